"""Feetech STS3215 servos behind a pseudo-terminal: their packets, registers and motion, as LeRobot's bus talks to them.

A packet is FF FF, id, length, instruction, parameters, checksum. Words are little-endian. A servo in position mode
turns towards its goal; one in velocity mode turns for ever. 4096 steps are a turn.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import threading
import time
import tty
from dataclasses import dataclass, field

PING, READ, WRITE, SYNC_READ, SYNC_WRITE, ALL = 1, 2, 3, 0x82, 0x83, 0xFE
MODEL, MODE, TORQUE, GOAL, SPEED, PRESENT, TURNING = 3, 33, 40, 42, 46, 56, 58
STS3215, TURN, FASTEST = 777, 4096, 3000.0
"""Model number; steps of a turn; steps per second."""


@dataclass
class Servo:
    """Registers, and where the shaft is."""

    registers: bytearray = field(default_factory=lambda: bytearray(128))
    at: float = TURN / 2

    def __post_init__(self) -> None:
        self.put(MODEL, STS3215)
        self.registers[0:2] = bytes([3, 10])  # firmware
        self.put(11, TURN - 1)
        self.put(GOAL, round(self.at))

    def put(self, address: int, word: int) -> None:
        self.registers[address : address + 2] = word.to_bytes(2, "little")

    def get(self, address: int) -> int:
        return int.from_bytes(self.registers[address : address + 2], "little")

    @property
    def velocity(self) -> float:
        """Steps per second that it is told to turn: sign and size."""
        word = self.get(SPEED)
        return -float(word & 0x7FFF) if word & 0x8000 else float(word)

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        speed = 0.0
        if self.registers[TORQUE]:
            if self.registers[MODE] == 1:
                speed = self.velocity
                self.at += speed * seconds
            else:
                left = self.get(GOAL) - self.at
                moved = max(-FASTEST * seconds, min(FASTEST * seconds, left))
                self.at += moved
                speed = moved / seconds if seconds > 0 else 0.0
        self.put(PRESENT, round(self.at) % TURN)
        self.put(TURNING, min(round(abs(speed)), 0x7FFF) | (0x8000 if speed < 0 else 0))


class ServoBus:
    """Servos on one wire. `port` is what a serial port would be called."""

    def __init__(self, ids: range) -> None:
        self.servos = {number: Servo() for number in ids}
        self.writes: list[tuple[float, int, int, bytes]] = []
        """(monotonic s, servo, address, data) of everything that was written."""
        self._ours, self._theirs = pty.openpty()
        tty.setraw(self._theirs)
        self.port = os.ttyname(self._theirs)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> ServoBus:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        os.close(self._ours)
        os.close(self._theirs)

    def written(self, address: int) -> list[tuple[float, int, bytes]]:
        """(monotonic s, servo, data) of what was written to a register."""
        return [(when, servo, data) for when, servo, where, data in self.writes if where == address]

    def _run(self) -> None:
        waiting, last = b"", time.monotonic()
        while not self._ended.is_set():
            if select.select([self._ours], [], [], 0.01)[0]:
                with contextlib.suppress(OSError):
                    waiting += os.read(self._ours, 4096)
            now = time.monotonic()
            for servo in self.servos.values():
                servo.turn(now - last)
            last = now
            waiting = self._packets(waiting)

    def _packets(self, data: bytes) -> bytes:
        """Answer every whole packet; returns what is left."""
        while (at := data.find(b"\xff\xff")) >= 0:
            data = data[at:]
            if len(data) < 4 or len(data) < 4 + data[3]:
                return data
            packet, data = data[: 4 + data[3]], data[4 + data[3] :]
            if packet[-1] == _checksum(packet[2:-1]):
                self._answer(packet[2], packet[4], packet[5:-1])
        return data[-1:] if data.endswith(b"\xff") else b""

    def _answer(self, number: int, instruction: int, given: bytes) -> None:
        meant = list(self.servos) if number == ALL else [n for n in [number] if n in self.servos]
        if instruction == PING:
            for each in meant:
                self._say(each, b"")
        elif instruction == READ:
            for each in meant:
                self._say(each, bytes(self.servos[each].registers[given[0] : given[0] + given[1]]))
        elif instruction == WRITE:
            for each in meant:
                self._write(each, given[0], given[1:])
                self._say(each, b"")
        elif instruction == SYNC_READ:
            for each in given[2:]:
                if each in self.servos:
                    self._say(each, bytes(self.servos[each].registers[given[0] : given[0] + given[1]]))
        elif instruction == SYNC_WRITE:
            size = given[1] + 1
            for begin in range(2, len(given), size):
                self._write(given[begin], given[0], given[begin + 1 : begin + size])

    def _write(self, number: int, address: int, data: bytes) -> None:
        if number in self.servos:
            self.servos[number].registers[address : address + len(data)] = data
            self.writes.append((time.monotonic(), number, address, data))

    def _say(self, number: int, data: bytes) -> None:
        body = bytes([number, len(data) + 2, 0]) + data
        os.write(self._ours, b"\xff\xff" + body + bytes([_checksum(body)]))


def _checksum(body: bytes) -> int:
    return ~sum(body) & 0xFF
