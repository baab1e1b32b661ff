from django.urls import path

from board import views

urlpatterns = [
    path("", views.index),
    path("login", views.login),
    path("notes", views.create),
    path("notes/<int:number>", views.show),
    path("notes/<int:number>/edit", views.edit),
    path("notes/<int:number>/delete", views.delete),
    path("uploads", views.upload),
    path("uploads/<path:name>/delete", views.delete_upload),
    path("uploads/<path:name>", views.download),
    path("slow", views.slow),
    path("crash", views.crash),
]
