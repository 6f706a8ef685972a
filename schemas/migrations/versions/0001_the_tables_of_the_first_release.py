"""The tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "lightings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("lux", sa.Float(), nullable=False),
        sa.Column("tolerance", sa.Float(), nullable=False),
        sa.Column("ev_reference", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lightings")),
        sa.UniqueConstraint("name", name=op.f("uq_lightings_name")),
    )
    op.create_table(
        "observers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_observers")),
        sa.UniqueConstraint("name", name=op.f("uq_observers_name")),
    )
    op.create_table(
        "scenes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scenes")),
        sa.UniqueConstraint("name", name=op.f("uq_scenes_name")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("scene_id", sa.Integer(), nullable=False),
        sa.Column("lighting_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=True),
        sa.Column("plan_digest", sa.String(), nullable=False),
        sa.Column("simulated", sa.Integer(), nullable=False),
        sa.Column("devices", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("ended_at", sa.DateTime(), nullable=True),
        sa.Column("status", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.CheckConstraint(
            "status IN ('done', 'stopped', 'failed')", name=op.f("ck_runs_status_known")
        ),
        sa.ForeignKeyConstraint(
            ["lighting_id"], ["lightings.id"], name=op.f("fk_runs_lighting_id")
        ),
        sa.ForeignKeyConstraint(["scene_id"], ["scenes.id"], name=op.f("fk_runs_scene_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_runs_scene_id_lighting_id"), ["scene_id", "lighting_id"], unique=False
        )

    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("setting", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_events_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_events_run_id_kind"), ["run_id", "kind"], unique=False)

    op.create_table(
        "frames",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("scene_id", sa.Integer(), nullable=False),
        sa.Column("lighting_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("setting", sa.String(), nullable=False),
        sa.Column("shutter_s", sa.Float(), nullable=True),
        sa.Column("iso", sa.Integer(), nullable=True),
        sa.Column("f_number", sa.Float(), nullable=True),
        sa.Column("exif_shutter_s", sa.Float(), nullable=True),
        sa.Column("exif_iso", sa.Integer(), nullable=True),
        sa.Column("exif_f_number", sa.Float(), nullable=True),
        sa.Column("ev", sa.Float(), nullable=True),
        sa.Column("ev_index", sa.Integer(), nullable=True),
        sa.Column("ev_offset", sa.Integer(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("black_fraction", sa.Float(), nullable=True),
        sa.Column("white_fraction", sa.Float(), nullable=True),
        sa.Column("mean_luma", sa.Float(), nullable=True),
        sa.Column("red_low", sa.Float(), nullable=True),
        sa.Column("red_high", sa.Float(), nullable=True),
        sa.Column("green_low", sa.Float(), nullable=True),
        sa.Column("green_high", sa.Float(), nullable=True),
        sa.Column("blue_low", sa.Float(), nullable=True),
        sa.Column("blue_high", sa.Float(), nullable=True),
        sa.Column("lux", sa.Float(), nullable=True),
        sa.Column("lux_min", sa.Float(), nullable=True),
        sa.Column("lux_max", sa.Float(), nullable=True),
        sa.Column("light_readings", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=True),
        sa.Column("width_px", sa.Integer(), nullable=True),
        sa.Column("height_px", sa.Integer(), nullable=True),
        sa.Column("camera_sha256", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("commanded_at", sa.DateTime(), nullable=True),
        sa.Column("captured_at", sa.DateTime(), nullable=True),
        sa.Column("stored_at", sa.DateTime(), nullable=False),
        sa.Column("camera_time", sa.String(), nullable=False),
        sa.CheckConstraint(
            "outcome IN ('accepted', 'rejected_black', 'rejected_white', 'failed', 'skipped')",
            name=op.f("ck_frames_outcome_known"),
        ),
        sa.ForeignKeyConstraint(
            ["lighting_id"], ["lightings.id"], name=op.f("fk_frames_lighting_id")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_frames_run_id")),
        sa.ForeignKeyConstraint(["scene_id"], ["scenes.id"], name=op.f("fk_frames_scene_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_frames")),
        sa.UniqueConstraint(
            "scene_id",
            "lighting_id",
            "kind",
            "setting",
            name=op.f("uq_frames_scene_id_lighting_id_kind_setting"),
        ),
    )
    with op.batch_alter_table("frames", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_frames_outcome_lighting_id_ev_offset"),
            ["outcome", "lighting_id", "ev_offset"],
            unique=False,
        )

    op.create_table(
        "light_readings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("lux", sa.Float(), nullable=False),
        sa.Column("uptime_ms", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_light_readings_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_light_readings")),
    )
    with op.batch_alter_table("light_readings", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_light_readings_run_id_at"), ["run_id", "at"], unique=False
        )

    op.create_table(
        "histograms",
        sa.Column("frame_id", sa.Integer(), nullable=False),
        sa.Column("luma", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["frame_id"], ["frames.id"], name=op.f("fk_histograms_frame_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("frame_id", name=op.f("pk_histograms")),
    )
    op.create_table(
        "stimuli",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("frame_id", sa.Integer(), nullable=False),
        sa.Column("view", sa.String(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["frame_id"], ["frames.id"], name=op.f("fk_stimuli_frame_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stimuli")),
        sa.UniqueConstraint("frame_id", "view", "task", name=op.f("uq_stimuli_frame_id_view_task")),
    )
    with op.batch_alter_table("stimuli", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_stimuli_task_view"), ["task", "view"], unique=False)

    op.create_table(
        "responses",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("stimulus_id", sa.Integer(), nullable=False),
        sa.Column("observer_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("latency_s", sa.Float(), nullable=True),
        sa.Column("timing", sa.JSON(), nullable=False),
        sa.Column("frame_sha256", sa.String(), nullable=False),
        sa.Column("answered_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["observer_id"], ["observers.id"], name=op.f("fk_responses_observer_id")
        ),
        sa.ForeignKeyConstraint(
            ["stimulus_id"], ["stimuli.id"], name=op.f("fk_responses_stimulus_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_responses")),
        sa.UniqueConstraint(
            "observer_id", "stimulus_id", name=op.f("uq_responses_observer_id_stimulus_id")
        ),
    )
    with op.batch_alter_table("responses", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_responses_stimulus_id"), ["stimulus_id"], unique=False)

    op.create_table(
        "verdicts",
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.Column("protocol", sa.String(), nullable=False),
        sa.Column("parsed", sa.JSON(), nullable=False),
        sa.Column("soft", sa.Integer(), nullable=True),
        sa.Column("hard", sa.Integer(), nullable=True),
        sa.Column("error_kind", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["responses.id"],
            name=op.f("fk_verdicts_response_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("response_id", "protocol", name=op.f("pk_verdicts")),
    )
