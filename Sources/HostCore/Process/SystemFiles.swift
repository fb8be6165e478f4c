/// What a confined program of this host may read of the system.
enum SystemFiles {
    /// System files that libraries read; of /etc only what every user may read anyway.
    static let readable = [
        "/usr", "/lib", "/lib64", "/bin", "/sys", "/etc/ld.so.cache", "/etc/localtime", "/etc/timezone",
        "/etc/os-release",
        "/etc/machine-id", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf",
        "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/passwd",
        "/etc/group", "/etc/locale.alias", "/var/lib/dbus/machine-id", "/dev/random", "/dev/urandom", "/dev/zero",
        // JavaScriptCore reads its own entry, and libdispatch ends the process when it cannot read /proc/<thread>/stat of
        // its threads, whose names are not known beforehand. What others keep there (environ, mem, maps, descriptors)
        // stays closed: Landlock lets no process look into one outside its own domain.
        "/proc",
    ]
}
