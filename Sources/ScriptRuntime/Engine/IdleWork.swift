internal import CJavaScriptCore

/// What the engine does for itself: collecting garbage while the script rests, and finishing its background work.
struct IdleWork {
    private let context: JSGlobalContextRef
    private let loop: UnsafeMutableRawPointer?
    private var turns = 0
    private var lastCheck: Int64 = 0
    private static let rest: Int64 = 250_000_000
    private static let checkInterval: Int64 = 50_000_000

    init(context: JSGlobalContextRef, loop: UnsafeMutableRawPointer?) { (self.context, self.loop) = (context, loop) }

    mutating func didTurn() { turns += 1 }

    /// When to collect if nothing happens until then.
    func deadline(at now: Int64) -> Int64? { turns > 0 ? now + Self.rest : nil }

    /// Without a main loop the engine's own timers for this never fire.
    func collect() {
        JSSynchronousGarbageCollectForDebugging(context)
        pump()
    }

    mutating func didCollect() { turns = 0 }

    /// Lets finished background work (WebAssembly, FinalizationRegistry) reach the script.
    func pump() {
        for _ in 0..<16 where apsule_loop_iterate(loop, 0) == 0 { return }
    }

    mutating func isDueForCheck(at now: Int64) -> Bool {
        guard now - lastCheck >= Self.checkInterval else { return false }
        lastCheck = now
        return true
    }
}
