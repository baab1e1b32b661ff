from django.db import models


class Note(models.Model):
    author = models.CharField(max_length=100)
    text = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    edited = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created", "-id"]


class Upload(models.Model):
    # A second file of one name gets a random end.
    file = models.FileField(upload_to="uploads")
