"""For gunicorn: board.wsgi:application."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "board.settings")
application = get_wsgi_application()
