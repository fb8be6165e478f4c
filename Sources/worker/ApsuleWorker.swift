import ApsuleKit
import Glibc
import HostCore
import ScriptRuntime

/// `apsule-worker`: one project's engine, dispatcher and plugins, confined by the launcher before this runs.
///
/// A program of its own, so that no other needs JavaScriptCore, which takes longer to load than all else together.
/// Started by a parent only: descriptor 3 is the control socket.
@main
enum ApsuleWorker {
    static func main() {
        signal(SIGPIPE, SIG_IGN)
        ScriptRuntime.prepareProcess()
        let channel = ControlChannel(OwnedFile(3))
        guard let start = channel.receive(), start.kind == .start,
            let names = start.body["files"]?.arrayValue?.compactMap(\.stringValue),
            case let files = Dictionary(zip(names, start.files), uniquingKeysWith: { first, _ in first }),
            let session = WorkerSession(start.body, files, WorkerLink(channel))
        else {
            // A parent that gives up before the script starts says why itself.
            _exit(1)
        }
        // Threads of plugins may still be ending: exit would have libraries clean up under them, OpenSSL for one.
        _exit(session.run() ? 0 : 1)
    }
}
