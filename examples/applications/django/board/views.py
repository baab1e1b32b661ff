"""Pages and forms of the board of notes and uploads."""

import os
import time

from django.db import transaction
from django.http import FileResponse, Http404, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST

from board.models import Note, Upload


class SeeOther(HttpResponseRedirect):
    status_code = 303


def index(request):
    return render(request, "board/index.html", {"notes": Note.objects.all()[:20]})


def show(request, number):
    return render(request, "board/note.html", {"note": get_object_or_404(Note, pk=number)})


@require_POST
def login(request):
    request.session.cycle_key()
    request.session["name"] = request.POST.get("name", "nobody")
    return SeeOther("/")


@require_POST
def create(request):
    note = Note.objects.create(author=request.session.get("name", "nobody"),
                               text=request.POST.get("text", ""))
    return SeeOther(f"/notes/{note.pk}")


@require_POST
def edit(request, number):
    note = get_object_or_404(Note, pk=number)
    note.text = request.POST.get("text", "")
    note.save()
    return SeeOther(f"/notes/{number}")


@require_POST
def delete(request, number):
    get_object_or_404(Note, pk=number).delete()
    return SeeOther("/")


@require_POST
@transaction.atomic
def upload(request):
    kept = Upload.objects.create(file=request.FILES["file"])
    return SeeOther(f"/{kept.file.name}")


def download(request, name):
    kept = get_object_or_404(Upload, file=f"uploads/{name}")
    try:
        return FileResponse(kept.file.open(), content_type="application/octet-stream")
    except FileNotFoundError as error:
        raise Http404 from error


@require_POST
@transaction.atomic
def delete_upload(request, name):
    kept = get_object_or_404(Upload, file=f"uploads/{name}")
    kept.delete()
    kept.file.delete(save=False)
    return SeeOther("/")


@require_POST
def slow(request):
    """A report that somebody else's machine takes its time to make."""
    time.sleep(min(float(request.POST.get("seconds", 1)), 20))
    return create(request)


@require_POST
def crash(request):
    """A defect: the process dies when half of the work is done, as of a fault in a library."""
    create(request)
    os.abort()
