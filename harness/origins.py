"""Origins of all kinds run as one child process each, alone or in a cluster."""

import signal


class Origin:
    """An origin whose server is `child` while it runs."""

    child = None

    def stop(self):
        if self.child:
            self.child.stop()
            self.child = None

    def kill(self):
        """A crash: no connection is closed properly first, and files stay as they are."""
        if self.child:
            self.child.kill()
            self.child = None

    def pause(self):
        """The origin hangs: it takes connections and answers nothing."""
        self.child.freeze()

    def resume(self):
        self.child.thaw()


class OriginCluster:
    """Some origins, in the list `origins`."""

    def __init__(self):
        self.origins = []

    def __getitem__(self, number):
        return self.origins[number]

    def __iter__(self):
        return iter(self.origins)

    def start(self):
        for origin in self.origins:
            origin.start()

    def stop(self):
        # All are asked at once: each takes its time to end.
        for origin in self.origins:
            if origin.child:
                origin.child.signal(signal.SIGCONT)
                origin.child.signal(signal.SIGTERM)
        for origin in self.origins:
            origin.stop()

    def close(self):
        """Nothing is left beside the folder."""
