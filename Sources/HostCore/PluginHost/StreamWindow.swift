/// How much a stream may send before it hears from the other process; what keeps a plugin-host from flooding the host.
///
/// Pure, one on each side: the sender's says when to hold and how often to resume, the receiver's when to grant more.
enum StreamWindow {
    static let events = 64
    static let bytes = 1 << 20

    /// The plugin-host's side.
    struct Sender: Sendable {
        private var events = StreamWindow.events
        private var bytes = StreamWindow.bytes
        private var holds = 0

        /// Counts an event that was accepted; whether the plugin must hold now.
        mutating func spend(_ size: Int) -> Bool {
            events -= 1
            bytes -= size
            guard events <= 0 || bytes <= 0 else { return false }
            holds += 1
            return true
        }

        /// How many resumes the plugin is owed: one for each hold.
        mutating func grant(events more: Int, bytes moreBytes: Int) -> Int {
            events = min(events + more, StreamWindow.events)
            bytes = min(bytes + moreBytes, StreamWindow.bytes)
            guard events > 0, bytes > 0 else { return 0 }
            defer { holds = 0 }
            return holds
        }
    }

    /// The host's side.
    struct Receiver: Sendable {
        private var events = 0
        private var bytes = 0
        /// Holds less resumes; below zero where a resume came before the event that it belongs to had returned.
        private var holds = 0

        /// Counts an event that the caller took or holds; what to grant now.
        mutating func took(_ size: Int, isHeld: Bool) -> (events: Int, bytes: Int)? {
            events += 1
            bytes += size
            if isHeld { holds += 1 }
            return due()
        }

        mutating func resumed() -> (events: Int, bytes: Int)? {
            holds -= 1
            return due()
        }

        /// Half a window at a time: a grant for each event would double the frames.
        private mutating func due() -> (events: Int, bytes: Int)? {
            guard holds <= 0, events >= StreamWindow.events / 2 || bytes >= StreamWindow.bytes / 2 else { return nil }
            defer { (events, bytes) = (0, 0) }
            return (events, bytes)
        }
    }
}
