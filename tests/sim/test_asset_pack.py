"""Objects take the looks of an asset pack, and nothing else of it. A pack that is half there is an error."""

import io
import json
import shutil
import struct

import mujoco
import numpy as np
import pytest
from PIL import Image
from reference import ASSETS

from foretell.errors import UsageError
from foretell.objects import ObjectPhysics, asset
from foretell.objects.scan import read_scan
from foretell.sim.asset_pack import FILES
from foretell.sim.params import MujocoFile, load_world
from foretell.sim.world import MujocoWorld
from foretell.tasks.carrot_on_plate import CarrotOnPlate
from foretell.tasks.pick_coke_can import PickStandingCokeCan

CORNERS = np.array([[0, 0, 0], [0.05, 0, 0], [0, 0.05, 0], [0, 0, 0.05]], dtype="<f4")
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype="<u4")
SLOT = np.zeros(1, dtype=np.int32)


def png(colour):
    data = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(data, "png")
    return data.getvalue()


def glb(colour=(250, 0, 250)):
    """A pyramid with a picture on it."""
    parts = [CORNERS.tobytes(), np.zeros((4, 2), dtype="<f4").tobytes(), FACES.tobytes(), png(colour)]
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    views = [{"byteOffset": start, "byteLength": len(part)} for start, part in zip(starts[:-1], parts, strict=True)]
    head = {
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        "images": [{"bufferView": 3}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5125, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": views,
    }
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(parts)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(body), 0x004E4942) + body
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><library_images><image id="i"><init_from>skin.png
</init_from></image></library_images>
<library_effects><effect id="e"><newparam><surface><init_from>i</init_from></surface>
</newparam><diffuse><texture/></diffuse></effect><effect id="plain"><diffuse><color>1 0 1 1</color></diffuse></effect>
</library_effects><library_materials><material id="m"><instance_effect url="#e"/></material><material id="p">
<instance_effect url="#plain"/></material></library_materials><library_geometries><geometry id="g"><mesh><source id="s">
<float_array>{corners}</float_array></source><source id="t"><float_array>0 0 1 1</float_array></source><vertices id="v">
<input semantic="POSITION" source="#s"/></vertices>
<triangles material="m"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="TEXCOORD" source="#t" offset="1"/><p>0 0 2 1 1 0 0 0 1 1 3 0</p></triangles>
<triangles material="p"><input
semantic="VERTEX" source="#v" offset="0"/><p>0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><matrix>1 0 0 0 0 1 0 0 0 0 1 0.01 0 0 0 1</matrix><instance_geometry
url="#g"/></node></visual_scene></library_visual_scenes></COLLADA>"""


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """A whole pack of pyramids."""
    models = tmp_path / "custom" / "models"
    for file in FILES.values():
        (models / file).parent.mkdir(parents=True, exist_ok=True)
        if file.endswith(".glb"):
            (models / file).write_bytes(glb())
        else:
            (models / file).write_text(DAE.format(corners=" ".join(map(str, CORNERS.ravel().tolist()))))
            (models / file).with_name("skin.png").write_bytes(png((250, 0, 250)))
    monkeypatch.setenv("FORETELL_ASSETS", str(tmp_path))
    return models


def world_file(**fields) -> MujocoFile:
    return load_world({"name": "packed", "kind": "mujoco", "transforms": [{"use": "asset_pack", **fields}]})


def test_a_scan_has_its_triangles_picture_and_colour(pack):
    (piece,) = read_scan(pack / FILES["coke-can"])
    assert np.allclose(piece.vertices, CORNERS)
    assert np.array_equal(piece.faces, FACES)
    textured, plain = read_scan(pack / FILES["bridge-carrot"])
    assert np.allclose(textured.vertices[:, 2].min(), 0.01)  # moved by the node's matrix
    assert textured.picture == png((250, 0, 250))
    assert (plain.picture, plain.colour) == (None, (1.0, 0.0, 1.0))


@pytest.mark.gl
@pytest.mark.parametrize("kind", [PickStandingCokeCan, CarrotOnPlate])
def test_the_pack_is_seen_and_changes_nothing_else(pack, kind):
    task = kind()
    own, packed = MujocoWorld(task, slots=1), MujocoWorld(task, world_file(), slots=1)
    layout = task.layouts()[0]
    camera = next(name for name in own.cameras if name in ("third_view", "google_robot/overhead"))
    pictures = []
    for world in (own, packed):
        world.reset(SLOT, [layout], [0])
        pictures.append(world.picture(0, camera, 120, 160).astype(int))
    assert (np.ptp(pictures, axis=0).max(axis=2) > 60).sum() > 20
    assert own.hash != packed.hash
    bare = [world.scene.compile(layout, 0) for world in (own, packed)]
    assert bare[0].ngeom == bare[1].ngeom
    assert all(
        np.array_equal(getattr(bare[0], f), getattr(bare[1], f)) for f in ("geom_size", "body_mass", "mesh_vert")
    )


def test_a_changed_file_is_another_world(pack):
    before = MujocoWorld(PickStandingCokeCan(), world_file(), slots=1).hash
    elsewhere = pack.parents[1] / "other"
    shutil.copytree(pack, elsewhere / "simpler" / "custom" / "models")
    moved = world_file(folder=str(elsewhere))
    assert MujocoWorld(PickStandingCokeCan(), moved, slots=1).hash == before
    third = elsewhere.with_name("third")
    shutil.copytree(pack, third / "custom" / "models")
    (third / "custom" / "models" / FILES["coke-can"]).write_bytes(glb((0, 250, 0)))
    assert MujocoWorld(PickStandingCokeCan(), world_file(folder=str(third)), slots=1).hash != before


def test_without_a_pack_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("FORETELL_ASSETS", raising=False)
    with pytest.raises(UsageError, match="no asset pack: set FORETELL_ASSETS to its folder") as raised:
        world_file()
    assert str(raised.value).count("(given: ") == 1
    monkeypatch.setenv("FORETELL_ASSETS", str(tmp_path))
    with pytest.raises(UsageError, match="has no folder custom/models or simpler/custom/models"):
        world_file()


def test_a_pack_that_is_half_there_is_an_error(pack):
    for name in ("coke-can", "pepsi-can"):
        (pack / FILES[name]).unlink()
    with pytest.raises(UsageError, match=r"is not complete: .* has no baked_opened_coke_can_v2.* and 1 file more"):
        world_file()
    world_file(objects=["bridge-carrot"])  # what is there can be asked for by itself
    with pytest.raises(UsageError, match="the pack has no 'bridge-carot'; did you mean 'bridge-carrot'"):
        world_file(objects=["bridge-carot"])
    (pack / FILES["bridge-plate"]).with_name("skin.png").unlink()
    with pytest.raises(UsageError, match=r"is broken: .*its picture skin.png is missing"):
        world_file(objects=["bridge-plate", "bridge-carrot"])


@pytest.mark.parametrize("data", [b"", b"glTF", b"glTF" + bytes(40), glb()[:-90], glb()[:200], b"\x00" * 500])
def test_a_broken_file_is_an_error(pack, data):
    (pack / FILES["7up-can"]).write_bytes(data)
    with pytest.raises(UsageError, match=r"the asset pack is broken: .*7up"):
        world_file(objects=["7up-can"])


@pytest.mark.parametrize("name", FILES)
def test_the_real_pack_has_the_size_of_our_objects(name):
    path = ASSETS / "simpler" / "custom" / "models" / FILES[name]
    if not path.exists():
        pytest.skip("there is no asset pack of SIMPLER; set FORETELL_ASSETS")
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="thing")
    body.add_freejoint()
    asset(name).add(spec, body, np.ones(3), ObjectPhysics())
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    own = []
    for i in np.flatnonzero(model.geom_contype):
        middle, half = model.geom_aabb[i][:3], model.geom_aabb[i][3:]
        signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
        if model.geom_type[i] == mujoco.mjtGeom.mjGEOM_MESH:
            mesh = model.mesh(int(model.geom_dataid[i]))
            points = model.mesh_vert[mesh.vertadr[0] : mesh.vertadr[0] + mesh.vertnum[0]]
        else:
            points = middle + signs * half
        own.append(points @ data.geom_xmat[i].reshape(3, 3).T + data.geom_xpos[i])
    ours, theirs = np.concatenate(own), np.concatenate([scan.vertices for scan in read_scan(path)])
    assert np.abs(ours.min(axis=0) - theirs.min(axis=0)).max() < 0.004
    top = [0, 1] if "apple" in name else [0, 1, 2]  # the scanned apple has a stem
    assert np.abs(ours.max(axis=0) - theirs.max(axis=0))[top].max() < 0.004
