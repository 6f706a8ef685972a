"""Color labels: dominant colors of objects and backgrounds."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "color_labels",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("frame_id", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("foreground", sa.String(), nullable=False),
        sa.Column("background", sa.String(), nullable=False),
        sa.Column("labeler", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("labeled_at", sa.DateTime(), nullable=False),
        sa.Column("foreground_luma", sa.Float(), nullable=True),
        sa.Column("background_luma", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["frame_id"],
            ["frames.id"],
            name=op.f("fk_color_labels_frame_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_color_labels")),
        sa.UniqueConstraint(
            "frame_id",
            "scope",
            "kind",
            "labeler",
            "round",
            name=op.f("uq_color_labels_frame_id_scope_kind_labeler_round"),
        ),
    )
