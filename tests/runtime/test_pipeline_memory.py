import json
import subprocess
import sys

import av
import numpy as np
import pytest
from run_scene import spread, strip


def write_row(path, frames, step_px=5, width_px=240):
    scene = strip((width_px + step_px * frames, 200), spread(frames // 20, (width_px + step_px * frames, 200)))
    container = av.open(str(path), "w")
    stream = container.add_stream("mpeg4", rate=25)
    stream.width, stream.height, stream.bit_rate = width_px, 200, 4_000_000
    for x in range(0, step_px * frames, step_px):
        picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(scene[:, x : x + width_px]), format="rgb24")
        container.mux(stream.encode(picture))
    container.mux(stream.encode(None))
    container.close()
    return path


@pytest.mark.slow
def test_memory_does_not_grow_with_the_length_of_the_row(tmp_path, repository):
    peaks = {}
    for frames in (400, 1600):
        video, out = write_row(tmp_path / f"{frames}.mkv", frames), tmp_path / f"out_{frames}"
        script = repository / "tests/runtime/stub_run.py"
        subprocess.run([sys.executable, str(script), str(video), "--out", str(out), "--frames"], check=True)
        summary = json.loads((out / "summary.json").read_text())
        assert summary["panorama"]["width_px"] > 4.5 * frames
        peaks[frames] = summary["peak_rss_mb"]
    # One full segment and the annotated picture differ, both bounded; 1,200 frames more are 170 MB.
    assert peaks[1600] < peaks[400] + 40
