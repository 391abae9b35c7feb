"""Documents for tests, made when they are needed: PDFs, images, mails. No file of anybody's lies in the repository."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from typing import Any

from PIL import Image

from handoffs.models import Attachment, Record


def pdf(*pages: str, size: tuple[int, int] = (595, 842), catalog: str = "") -> bytes:
    """A PDF with a few lines on each page, from 60 points below the top; `catalog` adds to its root (actions, say)."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(count))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for place, text in enumerate(pages):
        box = f"[0 0 {size[0]} {size[1]}]"
        font = "<< /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Resources {font} /Contents {5 + 2 * place} 0 R >>"
        )
        lines = "".join(f"({line}) Tj 0 -22 Td " for line in text.split("\n"))
        stream = f"BT /F1 16 Tf 60 {size[1] - 60} Td {lines}ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    return _written(objects)


def _written(objects: list[str]) -> bytes:
    out, places = b"%PDF-1.7\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{text}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    return out + f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


def image(sort: str = "PNG", size: tuple[int, int] = (60, 40), color: str = "navy") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, sort)
    return file.getvalue()


def png_bomb(width: int = 60_000, height: int = 60_000) -> bytes:
    """A PNG of a few kilobytes that says it is gigabytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0" * 2_000_000))
        + chunk(b"IEND", b"")
    )


def gif_bomb() -> bytes:
    """A GIF of a few bytes that says it is 65,535 pixels wide and high."""
    return (
        b"GIF89a" + struct.pack("<HHBBB", 65_535, 65_535, 0, 0, 0) + b"\x2c" + b"\0" * 9 + b"\x02\x02\x44\x01\x00\x3b"
    )


def attached(record: Record, content: bytes | None, name: str, media_type: str, **values: Any) -> Attachment:
    raw = content if content is not None else name.encode()
    return Attachment.objects.create(
        record=record,
        name=name,
        media_type=media_type,
        content=content,
        size=len(raw),
        digest=hashlib.sha256(raw).hexdigest(),
        added_at=record.opened_at,
        added_by="agent:echo",
        **values,
    )
