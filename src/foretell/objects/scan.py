"""Scanned things: coloured meshes of GLB and COLLADA files, as asset packs have them. Only what is seen is read."""

from __future__ import annotations

import json
import struct
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretell.arrays import Floats, Ints

__all__ = ["Scan", "read_scan"]

MOST_BYTES = 64 << 20
"""Of a file."""
NUMBERS = {5121: "<u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
"""glTF's types of numbers."""
Colour = tuple[float, float, float]
WIDE = {"SCALAR": 1, "VEC2": 2, "VEC3": 3}


@dataclass(frozen=True, kw_only=True)
class Scan:
    """One piece of a scanned thing: triangles, and a picture or a colour on them."""

    vertices: Floats
    """(k, 3), m."""
    faces: Ints
    """(f, 3) corners of triangles."""
    texture: Floats | None
    """(k, 2) where each vertex is in the picture, from its upper left corner; None: the piece has one colour."""
    picture: bytes | None
    """PNG or JPEG."""
    colour: Colour


def read_scan(path: Path) -> list[Scan]:
    """The pieces of a file. Raises ValueError, in words, where it is not what it should be."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"it has {path.stat().st_size} bytes; at most {MOST_BYTES} are read")
    try:
        return _glb(path.read_bytes()) if path.suffix == ".glb" else _dae(path)
    except (KeyError, IndexError, TypeError, AttributeError, struct.error, ET.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"its data are broken ({type(error).__name__}: {error})") from None


def _glb(data: bytes) -> list[Scan]:
    """Binary glTF: a JSON part and a part with the numbers."""
    if data[:4] != b"glTF":
        raise ValueError("it is no GLB file")
    length = struct.unpack_from("<I", data, 12)[0]
    head, numbers = json.loads(data[20 : 20 + length]), data[28 + length :]

    def view(index: int) -> bytes:
        part = head["bufferViews"][index]
        start = part.get("byteOffset", 0)
        return numbers[start : start + part["byteLength"]]

    def array(index: int) -> Any:
        accessor = head["accessors"][index]
        kind, wide = np.dtype(NUMBERS[accessor["componentType"]]), WIDE[accessor["type"]]
        start = accessor.get("byteOffset", 0)
        return np.frombuffer(view(accessor["bufferView"]), kind, accessor["count"] * wide, start).reshape(-1, wide)

    pieces = []
    for primitive in (primitive for mesh in head["meshes"] for primitive in mesh["primitives"]):
        material = head["materials"][primitive["material"]]
        skin = material["pbrMetallicRoughness"].get("baseColorTexture", material.get("emissiveTexture"))
        image = head["images"][head["textures"][skin["index"]]["source"]]
        pieces.append(
            Scan(
                vertices=array(primitive["attributes"]["POSITION"]).astype(float),
                faces=array(primitive["indices"]).reshape(-1, 3).astype(np.int64),
                texture=array(primitive["attributes"]["TEXCOORD_0"]).astype(float),
                picture=view(image["bufferView"]),
                colour=(1.0, 1.0, 1.0),
            )
        )
    return pieces


def _dae(path: Path) -> list[Scan]:
    """COLLADA: numbers in XML, pictures beside the file."""
    root = ET.parse(path).getroot()
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    every = {e.attrib["id"]: e for e in root.iter() if "id" in e.attrib}
    pieces = []
    for node in root.iter("node"):
        place = node.find("matrix")
        matrix = np.eye(4) if place is None else _numbers(place).reshape(4, 4)
        for shown in node.findall("instance_geometry"):
            for triangles in every[shown.attrib["url"][1:]].iter("triangles"):
                colour, picture = _surface(every, triangles.get("material"), path.parent)
                corners, at = _corners(every, triangles)
                pieces.append(
                    Scan(
                        vertices=corners @ matrix[:3, :3].T + matrix[:3, 3],
                        faces=np.arange(len(corners)).reshape(-1, 3),
                        texture=None if picture is None else at,
                        picture=picture,
                        colour=colour,
                    )
                )
    return pieces


def _numbers(element: Any) -> Floats:
    return np.array((element.text or "").split(), dtype=float)


def _corners(every: dict[str, Any], triangles: Any) -> tuple[Floats, Floats | None]:
    """(3 f, 3) corners of triangles, and (3 f, 2) where they are in the picture."""
    inputs = {i.attrib["semantic"]: i for i in triangles.findall("input")}
    wide = 1 + max(int(i.attrib["offset"]) for i in inputs.values())
    index = _numbers(triangles.find("p")).astype(np.int64).reshape(-1, wide)

    def read(entry: Any, columns: int) -> Floats:
        source = every[entry.attrib["source"][1:]]
        if source.tag == "vertices":
            source = every[source.find("input").attrib["source"][1:]]
        values: Floats = _numbers(source.find("float_array")).reshape(-1, columns)
        return values[index[:, int(entry.attrib["offset"])]]

    texture = read(inputs["TEXCOORD"], 2) * [1, -1] + [0, 1] if "TEXCOORD" in inputs else None
    return read(inputs["VERTEX"], 3), texture


def _surface(every: dict[str, Any], material: str | None, folder: Path) -> tuple[Colour, bytes | None]:
    """Colour and picture of a material."""
    if material is None:
        return (0.8, 0.8, 0.8), None
    effect = every[every[material].find("instance_effect").attrib["url"][1:]]
    if effect.find(".//diffuse/texture") is not None:
        image = every[effect.find(".//surface/init_from").text.strip()].find("init_from").text.strip()
        file = folder / Path(image).name
        if not file.is_file():
            raise ValueError(f"its picture {file.name} is missing")
        return (1.0, 1.0, 1.0), file.read_bytes()
    colours = [_numbers(c)[:3] for c in effect.findall(".//emission/color") + effect.findall(".//diffuse/color")]
    r, g, b = np.clip(np.sum(colours, axis=0), 0, 1) ** (1 / 2.2)  # linear light, as a screen shows it
    return (float(r), float(g), float(b)), None
