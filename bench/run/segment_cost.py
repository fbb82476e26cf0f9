"""What it costs to keep a panorama on disk, by the kind of its segments.

python bench/run/segment_cost.py PICTURE [--repeat 5] [--json]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from edgekit.contracts import Columns
from edgekit.runtime.panorama.segments import SegmentReader, SegmentWriter
from edgekit.runtime.sources.pictures import read_picture


def measure(picture: Path, kind: str, repeat: int) -> dict[str, float]:
    columns = Columns(read_picture(picture), 0)
    write_ms, read_ms, size = [], [], 0
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            writer = SegmentWriter(Path(folder), kind=kind)
            writer.add(columns)
            writer.finish()
            written = time.perf_counter()
            SegmentReader(Path(folder)).window(0, columns.image.shape[1])
            read_ms.append((time.perf_counter() - written) * 1e3)
            write_ms.append((written - began) * 1e3)
            size = sum(path.stat().st_size for path in Path(folder).iterdir())
    megapixels = columns.image.shape[0] * columns.image.shape[1] / 1e6
    return {"megapixels": megapixels, "write_ms": min(write_ms), "read_ms": min(read_ms), "megabytes": size / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {kind: measure(options.picture, kind, options.repeat) for kind in ("jpg", "png")}
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for kind, row in rows.items():
        print(f"{kind}: " + ", ".join(f"{value:.1f} {name}" for name, value in row.items()))


if __name__ == "__main__":
    main()
