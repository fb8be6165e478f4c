import ApsuleKit
import Glibc

extension DeviceFamily {
    /// Describes the machine.
    ///
    /// - Parameter call: no arguments.
    /// - Returns: `{name, model?, manufacturer?, kind?, identifier?, systemName, systemVersion?, os, kernel,
    ///   architecture, hostname, processors, memory (bytes), disk? (bytes), battery?, externalPower?, screens, locale?,
    ///   timezone, uptimeSeconds}`.
    /// - Source: <https://developer.apple.com/documentation/uikit/uidevice>, whose fields keep their names.
    func info(_ call: Call) -> JSON {
        let kernel = Kernel()
        let os = OperatingSystem(files)
        let hardware = Hardware(files)
        let power = Power(files)
        let region = Region(files, environment: Region.variable)
        return [
            "name": .string(files.variables("etc/machine-info")["PRETTY_HOSTNAME"] ?? kernel.hostname),
            "model": JSON(hardware.model),
            "manufacturer": JSON(hardware.manufacturer),
            "kind": JSON(hardware.kind),
            "identifier": JSON(try? Identifier.read(project.dataDirectory())),
            "systemName": .string(os.name),
            "systemVersion": JSON(os.version),
            "os": os.json,
            "kernel": kernel.json,
            "architecture": .string(kernel.machine),
            "hostname": .string(kernel.hostname),
            "processors": ["count": system(_SC_NPROCESSORS_CONF), "active": system(_SC_NPROCESSORS_ONLN)],
            "memory": [
                "totalBytes": system(_SC_PHYS_PAGES, times: _SC_PAGESIZE),
                "freeBytes": system(_SC_AVPHYS_PAGES, times: _SC_PAGESIZE),
            ],
            "disk": disk,
            "battery": power.battery,
            "externalPower": power.externalPower.map(JSON.bool) ?? .null,
            "screens": hardware.screens,
            "locale": region.locale,
            "timezone": region.timezone,
            "uptimeSeconds": uptime,
        ]
    }

    /// A count of the system's, in another unit where one is named; it comes from sysinfo(2) and `/sys`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/sysconf.3.html>
    private func system(_ name: Int, times unit: Int? = nil) -> JSON {
        let factor = unit.map { sysconf(Int32($0)) } ?? 1
        return .int(Int64(max(0, sysconf(Int32(name)) * factor)))
    }

    /// The file system of the data folder.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/fstatvfs.3.html>
    private var disk: JSON {
        var status = statvfs()
        guard let folder = try? project.dataDirectory(), fstatvfs(folder, &status) == 0 else { return .null }
        let block = Int64(clamping: status.f_frsize)
        return [
            "totalBytes": .int(Int64(clamping: status.f_blocks) * block),
            "availableBytes": .int(Int64(clamping: status.f_bavail) * block),
        ]
    }

    private var uptime: JSON {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .int(Int64(time.tv_sec))
    }
}

extension JSON {
    init(_ text: String?) { self = text.map(JSON.string) ?? .null }
}
