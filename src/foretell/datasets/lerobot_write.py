"""Write a LeRobotDataset v3.0 with pyarrow and PyAV, and without lerobot.

An episode is a row group of a data file, and a video file of its own for each camera. Everything is written below a
folder whose name ends in `.part`, which gets its name when all is whole.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from foretell.datasets.moments import Moments, merged, moments
from foretell.errors import ForetellError, UsageError

__all__ = ["VERSION", "LeRobotWriter", "features_of", "video_feature"]

VERSION = "v3.0"
CHUNK = 1000
"""Files of a folder."""
DATA_MB, VIDEO_MB = 100, 200
"""Size from which on a data file is full. Videos are one for each episode, and so smaller than stated."""
SAMPLED = 20
"""Frames of each video from which the statistics of its pixels are made."""
COUNTED = ("timestamp", "frame_index", "episode_index", "index", "task_index")
DTYPES = {"float32": "float32", "int64": "int64", "bool": "bool_"}


class LeRobotWriter:
    """A dataset in the making. `features`: name -> `dtype` (float32, int64, bool or video), `shape` and `names`."""

    def __init__(self, out: Path, *, fps: float, robot: str, features: Mapping[str, Mapping[str, Any]]):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"out: {out} is not empty; give the name of a new folder")
        self.out, self.fps, self.robot = out, fps, robot
        self.features = {name: dict(feature) for name, feature in features.items()}
        self._part = out.with_name(f"{out.name}.part")
        shutil.rmtree(self._part, ignore_errors=True)
        (self._part / "meta").mkdir(parents=True)
        self._tasks: dict[str, int] = {}
        self._episodes: list[dict[str, Any]] = []
        self._moments: dict[str, list[Moments]] = {}
        self._rows, self._file, self._bytes = 0, 0, 0
        self._data: Any = None

    @property
    def folder(self) -> Path:
        """Where the dataset is while it is made; what is put there goes with it."""
        return self._part

    @property
    def cameras(self) -> list[str]:
        """Features that are videos."""
        return [name for name, feature in self.features.items() if feature["dtype"] == "video"]

    def add(self, task: str, columns: Mapping[str, np.ndarray], videos: Mapping[str, Iterable[np.ndarray]]) -> None:
        """An episode. columns: feature -> (rows, *shape). videos: feature -> a picture (height, width, 3) uint8 for
        each row."""
        rows, number = len(next(iter(columns.values()))), len(self._episodes)
        if not rows:
            raise ForetellError(f"{self.out}: episode {number} has no step")
        numbers = np.arange(rows)
        counted: dict[str, np.ndarray] = {
            "timestamp": (numbers / self.fps).astype(np.float32),
            "frame_index": numbers,
            "episode_index": np.full(rows, number),
            "index": self._rows + numbers,
            "task_index": np.full(rows, self._tasks.setdefault(task, len(self._tasks))),
        }
        values: dict[str, np.ndarray] = {**columns, **counted}
        stats = {name: moments(values[name]) for name in values}
        self._write_rows(values)
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": [task],
            "length": rows,
            **_place("data", self._file),
            "dataset_from_index": self._rows,
            "dataset_to_index": self._rows + rows,
        }
        for name in self.cameras:
            stats[name] = self._write_video(name, number, videos[name], rows)
            row |= _place(f"videos/{name}", number)
            row |= {f"videos/{name}/from_timestamp": 0.0, f"videos/{name}/to_timestamp": rows / self.fps}
        for name, made in stats.items():
            self._moments.setdefault(name, []).append(made)
            row |= {f"stats/{name}/{key}": _nested(name in self.cameras, key, value) for key, value in made.items()}
        self._episodes.append({**row, **_place("meta/episodes", 0)})
        self._rows += rows

    def close(self) -> Path:
        """Write what describes the dataset, and give the folder its name."""
        if not self._episodes:
            self.abandon()
            raise ForetellError(f"{self.out}: there is no episode to write")
        self._close_data()
        meta = self._part / "meta"
        _write(meta / "info.json", json.dumps(self._info(), indent=4).encode())
        videos = self.cameras
        stats = {
            name: {key: _nested(name in videos, key, value) for key, value in merged(parts).items()}
            for name, parts in self._moments.items()
        }
        _write(meta / "stats.json", json.dumps(stats, indent=4).encode())
        self._write_tasks(meta / "tasks.parquet")
        self._write_episodes(meta / "episodes" / "chunk-000" / "file-000.parquet")
        if self.out.exists():
            self.out.rmdir()  # it was empty, and a folder cannot replace it otherwise
        os.replace(self._part, self.out)
        return self.out

    def abandon(self) -> None:
        """Give up, and leave nothing behind."""
        if self._data is not None:
            self._data.close()
            self._data = None
        shutil.rmtree(self._part, ignore_errors=True)

    def _info(self) -> dict[str, Any]:
        count = len(self._episodes)
        own = {"timestamp": "float32", **dict.fromkeys(COUNTED[1:], "int64")}
        return {
            "codebase_version": VERSION,
            "robot_type": self.robot,
            "total_episodes": count,
            "total_frames": self._rows,
            "total_tasks": len(self._tasks),
            "chunks_size": CHUNK,
            "data_files_size_in_mb": DATA_MB,
            "video_files_size_in_mb": VIDEO_MB,
            "fps": int(self.fps) if float(self.fps).is_integer() else self.fps,
            "splits": {"train": f"0:{count}"},
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
            if self.cameras
            else None,
            "features": self.features | {name: {"dtype": d, "shape": [1], "names": None} for name, d in own.items()},
        }

    def _write_rows(self, values: Mapping[str, np.ndarray]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        arrays = {}
        for name, value in values.items():
            feature = self.features.get(name, {"dtype": str(value.dtype), "shape": [1]})
            kind, (width,) = getattr(pa, DTYPES[feature["dtype"]])(), feature["shape"]
            flat = pa.array(np.asarray(value).reshape(-1).astype(kind.to_pandas_dtype()), kind)
            arrays[name] = flat if width == 1 else pa.FixedSizeListArray.from_arrays(flat, width)
        table = pa.table(arrays)
        if self._data is not None and self._bytes + table.nbytes > DATA_MB * 2**20:
            self._close_data()
            self._file, self._bytes = self._file + 1, 0
        if self._data is None:
            path = self._part / "data" / f"{_file(self._file)}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._data = pq.ParquetWriter(path, table.schema, compression="snappy", use_dictionary=True)
        self._data.write_table(table)
        self._bytes += table.nbytes

    def _close_data(self) -> None:
        if self._data is not None:
            self._data.close()
            self._data = None

    def _write_video(self, name: str, number: int, pictures: Iterable[np.ndarray], rows: int) -> Moments:
        """Encode an episode's pictures; returns the statistics of some of them, in [0, 1]."""
        from foretell.datasets.video import VideoFile

        height, width, _ = self.features[name]["shape"]
        path = self._part / "videos" / name / f"{_file(number)}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        file = VideoFile(path, height, width, Fraction(self.fps).limit_denominator(1000))
        wanted = set(np.linspace(0, rows - 1, min(SAMPLED, rows)).round().astype(int).tolist())
        pixels, at = [], -1
        for at, picture in enumerate(pictures):
            file.add(picture)
            if at in wanted:
                pixels.append(picture[::4, ::4].reshape(-1, 3) / 255.0)
        file.close()
        if at + 1 != rows:
            raise ForetellError(f"{self.out}: episode {number} has {rows} steps, and {name} {at + 1} pictures")
        return {**moments(np.concatenate(pixels)), "count": np.array([len(pixels)])}

    def _write_tasks(self, path: Path) -> None:
        """LeRobot reads this table with pandas and looks tasks up by its index, which these metadata declare."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        index = "__index_level_0__"
        table = pa.table({"task_index": pa.array(self._tasks.values(), pa.int64()), index: list(self._tasks)})
        column = {"pandas_type": "int64", "numpy_type": "int64", "metadata": None}
        text = {"pandas_type": "unicode", "numpy_type": "object", "metadata": None}
        about = {
            "index_columns": [index],
            "column_indexes": [],
            "columns": [
                {"name": "task_index", "field_name": "task_index", **column},
                {"name": None, "field_name": index, **text},
            ],
            "pandas_version": "2.0.0",
        }
        pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(about)}), path)

    def _write_episodes(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(self._episodes), path)


def features_of(values: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Columns of floats, each with the names of its numbers, as features."""
    return {name: {"dtype": "float32", "shape": [len(names)], "names": list(names)} for name, names in values.items()}


def video_feature(height: int, width: int, fps: float) -> dict[str, Any]:
    """A camera as a feature."""
    info = {
        "video.height": height,
        "video.width": width,
        "video.codec": "h264",
        "video.pix_fmt": "yuv420p",
        "video.is_depth_map": False,
        "video.fps": fps,
        "video.channels": 3,
        "has_audio": False,
    }
    return {
        "dtype": "video",
        "shape": [height, width, 3],
        "names": ["height", "width", "channels"],
        "info": info,
    }


def _file(number: int) -> str:
    return f"chunk-{number // CHUNK:03d}/file-{number % CHUNK:03d}"


def _place(what: str, number: int) -> dict[str, int]:
    return {f"{what}/chunk_index": number // CHUNK, f"{what}/file_index": number % CHUNK}


def _nested(video: bool, key: str, value: np.ndarray) -> list[Any]:
    """A statistic as LeRobot has it: of a video (3, 1, 1), to go with pictures that begin with their channels."""
    shaped = value.reshape(-1, 1, 1) if video and key != "count" else value
    plain: list[Any] = shaped.tolist()
    return plain


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
