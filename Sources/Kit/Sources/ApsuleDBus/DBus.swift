/// D-Bus for families: GDBus on a thread of its own.
public enum DBus {}
