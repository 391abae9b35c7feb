from __future__ import annotations

import pytest

from handoffs import flows
from handoffs.models import Queue
from tests.faults.flows import QUEUE, parcels


@pytest.fixture
def parcel_queue(transactional_db, django_user_model):
    """The queue that catches what stops, owned by alice; the flow `parcels` is known here."""
    flows.register(parcels)
    alice = django_user_model.objects.create_user("alice", first_name="Alice", last_name="Ek")
    return Queue.objects.create(slug=QUEUE, title="Parcel troubles", owner=alice)
