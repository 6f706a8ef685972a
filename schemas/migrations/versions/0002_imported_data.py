"""Imported data: which sources are in the catalog, and the objects of each scene."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "imports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("imported_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_imports")),
        sa.UniqueConstraint("kind", "source", name=op.f("uq_imports_kind_source")),
    )
    op.create_table(
        "instances",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("scene_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("x_px", sa.Float(), nullable=False),
        sa.Column("y_px", sa.Float(), nullable=False),
        sa.Column("width_px", sa.Float(), nullable=False),
        sa.Column("height_px", sa.Float(), nullable=False),
        sa.Column("area_px", sa.Float(), nullable=False),
        sa.Column("crowd", sa.Integer(), nullable=False),
        sa.Column("rle", sa.JSON(), nullable=True),
        sa.Column("image_width_px", sa.Integer(), nullable=False),
        sa.Column("image_height_px", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["scene_id"], ["scenes.id"], name=op.f("fk_instances_scene_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_instances")),
        sa.UniqueConstraint("scene_id", "number", name=op.f("uq_instances_scene_id_number")),
    )
    # not in a batch: that would copy the table and drop the one that responses refer to
    origin = sa.Column("origin", sa.String(), server_default=sa.text("''"), nullable=False)
    op.add_column("stimuli", origin)
