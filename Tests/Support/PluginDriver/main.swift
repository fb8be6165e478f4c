import ApsuleKit
import CApsule
import Glibc
import TestHost

// plugin-driver FAMILY FOLDER: drives the family's built library from a process of its own, which a test may kill, limit or
// start twice. Reads {"operation": …, "arguments": …} a line, answers {"result": …} or {"error": …} a line.

func fail(_ text: String) -> Never {
    let line = Array("plugin-driver: \(text)\n".utf8)
    write(STDERR_FILENO, line, line.count)
    exit(2)
}

func answer(_ json: JSON) {
    let line = json.bytes + [UInt8(ascii: "\n")]
    if write(STDOUT_FILENO, line, line.count) != line.count { exit(3) }
}

guard CommandLine.arguments.count == 3 else { fail("FAMILY FOLDER") }
let family = CommandLine.arguments[1]
let library = "\(PluginProcess.productFolder)/libapsule-\(family).so"
guard let handle = dlopen(library, RTLD_NOW | RTLD_LOCAL) else {
    fail(dlerror().map { String(cString: $0) } ?? library)
}
guard let symbol = dlsym(handle, "apsule_plugin_\(family)") else { fail("no entry in \(library)") }
typealias Entry = @convention(c) () -> UnsafePointer<apsule_plugin>?
let host = try TestHost(
    family, unsafeBitCast(symbol, to: Entry.self), project: TestProject(root: CommandLine.arguments[2]))

while let line = readLine() {
    let request = try JSON(parsing: Array(line.utf8))
    do {
        let arguments = request["arguments"] ?? .object([])
        answer(["result": try await host.call(request["operation"]?.stringValue ?? "", arguments)])
    } catch {
        answer(["error": (error as? HostError ?? HostError("test.unexpected", "\(error)")).json])
    }
}
host.close()
