"""Filters for text that came from outside."""

from __future__ import annotations

from django import template

from reviewqueue import visible as seeing

register = template.Library()


@register.filter
def visible(text: object) -> str:
    """Text with its hidden characters shown as marks; escaped by the template as any text."""
    return seeing.visible(str(text))


@register.filter
def cut_to(text: object, limit: int) -> str:
    return seeing.cut(seeing.visible(str(text)), int(limit))
