"""Train the default fruit model: ``python train.py --data DIR --start yolo11n_coco.pt --out fruit-yolo11n-seg.pt``.

Several single-thread processes compute gradients on their own tiles and average them: on a processor that is shared
with anything else this is much faster than one process with several OpenMP threads. Every random choice follows from
(seed, rank, step), so that a run that was stopped goes on from its last checkpoint as if it had not been.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import network
import numpy as np
import torch
import torch.distributed as dist
from augment import TileMaker, box_of
from data import Image, load_set
from settings import ScheduleSettings, Settings, read
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn
from torch.nn.utils import clip_grad_norm_

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Arguments:
    """The command line. See ``--help``."""

    data: Path
    start: Path
    out: Path
    config: Path
    work: Path


def collate(tiles: list[tuple[Image, list[Image]]], stride: int = 4) -> dict[str, Tensor]:
    """Ultralytics' batch: img B x 3 x S x S in 0..1, masks B x S/4 x S/4 of 1-based indices (the smaller fruit on top).

    bboxes are N x 4, xywh as shares of the side; cls is N x 1; batch_idx is N.
    """
    images, planes, boxes, owners = [], [], [], []
    for k, (image, masks) in enumerate(tiles):
        side = image.shape[0]
        images.append(torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))))
        plane = np.zeros((side // stride, side // stride), np.uint8)
        ordered = sorted(masks, key=lambda m: -int(m.sum()))
        for index, mask in enumerate(ordered, 1):
            small = cv2.resize(mask * 255, plane.shape[::-1], interpolation=cv2.INTER_AREA)
            plane[small > 127] = index
            x0, y0, x1, y1 = box_of(mask)
            boxes.append([(x0 + x1) / 2 / side, (y0 + y1) / 2 / side, (x1 - x0) / side, (y1 - y0) / side])
            owners.append(k)
        planes.append(torch.from_numpy(plane))
    return {
        # channels last: bfloat16 convolutions run twice as fast as in the default order
        "img": (torch.stack(images).float() / 255).contiguous(memory_format=torch.channels_last),
        "masks": torch.stack(planes).float(),
        "bboxes": torch.tensor(boxes, dtype=torch.float32).reshape(-1, 4),
        "cls": torch.zeros(len(boxes), 1),
        "batch_idx": torch.tensor(owners, dtype=torch.float32),
    }


def rate(step: int, schedule: ScheduleSettings) -> float:
    """Learning rate of a step: linear warm-up, then half a cosine."""
    if step < schedule.warmup_steps:
        return schedule.lr * (step + 1) / schedule.warmup_steps
    share = (step - schedule.warmup_steps) / max(schedule.steps - schedule.warmup_steps, 1)
    low = schedule.lr * schedule.final_lr_share
    return low + (schedule.lr - low) * (1 + math.cos(math.pi * share)) / 2


def average_gradients(parameters: list[nn.Parameter], world: int) -> None:
    """Replace every gradient by its mean over the processes, in one message."""
    flat = torch.cat([p.grad.flatten() if p.grad is not None else torch.zeros(p.numel()) for p in parameters])
    dist.all_reduce(flat)
    flat /= world
    parts = torch.split(flat, [p.numel() for p in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part.view_as(parameter)


@torch.no_grad()
def average_weights(ema: nn.Module, model: nn.Module, step: int, decay: float) -> None:
    """Move the average towards the model; early on it follows faster."""
    d = min(decay, (1 + step) / (10 + step))
    for kept, new in zip(ema.state_dict().values(), model.state_dict().values(), strict=True):
        if kept.dtype.is_floating_point:
            kept.mul_(d).add_(new, alpha=1 - d)
        else:
            kept.copy_(new)


class Trainer:
    """One process of the run."""

    def __init__(self, arguments: Arguments, settings: Settings, rank: int) -> None:
        self.arguments, self.settings, self.rank = arguments, settings, rank
        torch.manual_seed(settings.seed)  # the same start on every rank
        self.model = network.make(settings.model, arguments.start).to(memory_format=torch.channels_last)
        self.ema = copy.deepcopy(self.model).eval()
        groups = network.parameter_groups(self.model, settings.schedule.weight_decay)
        self.optimizer = torch.optim.AdamW(groups, lr=settings.schedule.lr, betas=(0.9, 0.999))
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.maker = TileMaker(settings, {s.folder: load_set(arguments.data, s) for s in settings.sets})
        self.first = self._resume()

    def _checkpoint(self) -> Path:
        """This rank's file: running means of the normalisation differ from rank to rank."""
        return self.arguments.work / f"rank{self.rank}.pt"

    def _resume(self) -> int:
        """Load the last checkpoint, if there is one; the first step to do."""
        if not self._checkpoint().exists():
            return 0
        kept = torch.load(self._checkpoint(), weights_only=True)
        self.model.load_state_dict(kept["model"])
        self.ema.load_state_dict(kept["ema"])
        self.optimizer.load_state_dict(kept["optimizer"])
        return int(kept["step"])

    def _keep(self, done: int) -> None:
        """Write the checkpoint under a temporary name, then rename."""
        kept = {
            "model": self.model.state_dict(),
            "ema": self.ema.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": done,
        }
        temporary = self._checkpoint().with_suffix(".tmp")
        torch.save(kept, temporary)
        temporary.replace(self._checkpoint())

    def batch(self, step: int) -> dict[str, Tensor]:
        """The tiles of a step."""
        schedule = self.settings.schedule
        rng = np.random.default_rng([self.settings.seed, self.rank, step])
        plain = step >= schedule.steps * (1 - schedule.plain_share)
        return collate([self.maker.make(rng, plain) for _ in range(schedule.batch)])

    def step(self, step: int) -> dict[str, float]:
        """Forward, backward, average, update; the losses."""
        schedule = self.settings.schedule
        batch = self.batch(step)
        with torch.autocast("cpu", torch.bfloat16, enabled=schedule.bf16):
            predictions = self.model(batch["img"])
        loss, items = self.model.loss(batch, predictions)  # type: ignore[no-untyped-call]
        self.optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()
        average_gradients(self.trained, schedule.processes)
        clip_grad_norm_(self.trained, schedule.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate(step, schedule)
        self.optimizer.step()
        average_weights(self.ema, self.model, step, schedule.ema_decay)
        return {name: float(value) for name, value in items.items()}

    def run(self) -> None:
        """All steps that are left, with a log line each ten and checkpoints."""
        began, losses = time.monotonic(), []
        for step in range(self.first, self.settings.schedule.steps):
            losses.append(self.step(step))
            done = step + 1
            if done % 10 == 0 and self.rank == 0:
                means: dict[str, Any] = {k: round(float(np.mean([v[k] for v in losses])), 3) for k in losses[0]}
                pace = (time.monotonic() - began) / (done - self.first)
                print(json.dumps({"step": done, "s_per_step": round(pace, 3), **means}), flush=True)
                losses = []
            if done % self.settings.schedule.checkpoint_every == 0 or done == self.settings.schedule.steps:
                self._keep(done)
                dist.barrier()  # so that the ranks' checkpoints are of one step


def work(rank: int, arguments: Arguments, settings: Settings, rendezvous: str) -> None:
    """One process: join the group, train, and let rank 0 write the average's weights."""
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    torch.set_flush_denormal(True)
    world = settings.schedule.processes
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world)
    trainer = Trainer(arguments, settings, rank)
    trainer.run()
    if rank == 0:
        network.save(trainer.ema, arguments.out, settings.tile.size)
    dist.destroy_process_group()


def parse() -> Arguments:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the sets' folders")
    parser.add_argument("--start", type=Path, required=True, help="state dict of the COCO-trained YOLO11n detector")
    parser.add_argument("--out", type=Path, default=HERE / "fruit-yolo11n-seg.pt", help="where the weights go")
    parser.add_argument("--config", type=Path, default=HERE / "train.toml", help="settings")
    parser.add_argument("--work", type=Path, default=Path("fruit-run"), help="checkpoints; a run goes on from them")
    return Arguments(**vars(parser.parse_args()))


def main() -> None:
    """Start the processes."""
    arguments = parse()
    settings = read(arguments.config)
    arguments.work.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        spawn(  # type: ignore[no-untyped-call]
            work, (arguments, settings, f"{folder}/group"), nprocs=settings.schedule.processes
        )


if __name__ == "__main__":
    main()
