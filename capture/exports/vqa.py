"""`export vqa`: questions and their true answers in the format of the VQA challenge.

Source: Antol et al., "VQA: Visual Question Answering" (2015); version 2 of its files.
"""

from __future__ import annotations

import json
from typing import Any

from capture.exports.job import IMAGES, Job, image_name
from capture.exports.json_items import JsonItems
from rig.errors import Abort
from schemas.export_store import ExportRow, has_questions, questions_of
from schemas.questions import question_text, true_answer

QUESTIONS, ANNOTATIONS = "questions.json", "annotations.json"

#: Kinds of questions and answers, as the challenge names them.
_KIND = {
    "q1": ("what class", "other"),
    "q2": ("how many", "number"),
    "q3": ("what class", "other"),
    "q4": ("how many", "number"),
}


def write_vqa(job: Job) -> None:
    """Write pictures, questions and true answers. A question id is its image's and its number.

    Raises
    ------
    Abort
        If no frame has a question.
    """
    if not has_questions(job.connection):
        raise Abort("the frames have no questions yet", "snaprig questions make --seed 1")
    folder, unanswered = job.folder, 0
    with JsonItems(folder.root) as questions, JsonItems(folder.root) as annotations:
        named = ((row, image_name(row)) for row in job.rows())
        for image_id, (row, picture) in enumerate(job.pictures(named), start=1):
            for task, options in sorted(questions_of(job.connection, row.id).items()):
                answer = true_answer(task, row.category, row.objects, options)
                if not answer:
                    unanswered += 1
                    continue
                key = 10 * image_id + int(task[1])
                questions.add(_question(key, image_id, picture.name, task, options))
                annotations.add(_annotation(key, image_id, task, answer, row))
        if not questions.number:
            raise Abort(
                "the frames have no questions with a known answer",
                "snaprig questions make --seed 1",
            )
        about = job.facts.about
        info = {"description": about.name, "version": about.version, "url": about.url}
        for name, content, items in (
            (QUESTIONS, "questions", questions),
            (ANNOTATIONS, "annotations", annotations),
        ):
            with folder.file(name) as file:
                file.write(b'{"info":' + json.dumps(info).encode() + f',\n"{content}":'.encode())
                items.write_list(file)
                file.write(b"}\n")
        job.facts.notes.append(f"{questions.number} questions")
    if unanswered:
        job.facts.notes.append(
            f"{unanswered} questions left out: none of their options is right, or their options "
            "are not known"
        )


def _question(
    key: int, image_id: int, name: str, task: str, options: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "question_id": key,
        "image_id": image_id,
        "image": name.removeprefix(IMAGES + "/"),
        "task": task,
        "question": question_text(task, options),
        "options": list(options),
    }


def _annotation(key: int, image_id: int, task: str, answer: str, row: ExportRow) -> dict[str, Any]:
    kind, answer_kind = _KIND[task]
    return {
        "question_id": key,
        "image_id": image_id,
        "question_type": kind,
        "answer_type": answer_kind,
        "multiple_choice_answer": answer,
        "answers": [{"answer_id": 1, "answer": answer, "answer_confidence": "yes"}],
        "scene": row.scene,
        "category": row.category,
        "count": row.objects,
        "lighting": row.lighting,
        "ev_offset": row.ev_offset,
    }
