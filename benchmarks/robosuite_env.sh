#!/bin/sh
# Makes the environment that robosuite_side.py runs in: sh benchmarks/robosuite_env.sh [DIR, .envs/robosuite]
#
# It is separate from foretell's because robosuite 1.5.2 does not run on MuJoCo 4: making an env fails with an
# AssertionError, as the joint types it reads from a model no longer equal the mjtJoint members it compares
# them with. It also requires mink 0.0.5, which caps NumPy below 2. Only whole-body inverse kinematics needs
# mink, and only teleoperation needs pynput; a Panda with its default controller needs neither. So everything
# is installed without dependency resolution, from this full list.
# Needs Python 3.11 or newer (PYTHON=...). Running it again installs only what differs from the list.
set -eu

dir=${1:-.envs/robosuite}
[ -x "$dir/bin/python" ] || "${PYTHON:-python3}" -m venv "$dir"

"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    robosuite==1.5.2 \
    mujoco==3.8.1 \
    numpy==2.2.6 \
    numba==0.68.1 llvmlite==0.50.0 \
    scipy==1.17.1 \
    opencv-python-headless==5.0.0.93 \
    pillow==13.0.0 \
    termcolor==3.3.0 \
    tqdm==4.70.1 \
    absl-py==2.5.1 etils==1.14.0 fsspec==2026.9.0 typing_extensions==4.16.0 zipp==4.1.2 \
    glfw==2.11.0 PyOpenGL==3.1.10

# robosuite warns on import about what is left out here, so its messages matter only if the import fails.
check='import mujoco, robosuite; print("robosuite", robosuite.__version__, "on mujoco", mujoco.__version__)'
output=$("$dir/bin/python" -c "$check" 2>&1) || { echo "$output" >&2; exit 1; }
echo "$output" | tail -n 1
