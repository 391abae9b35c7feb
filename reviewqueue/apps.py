from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReviewQueueConfig(AppConfig):
    """The site: the pages on which reviewers decide."""

    name = "reviewqueue"
    verbose_name = _("Review queue")
