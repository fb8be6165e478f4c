internal import CJavaScriptCore

/// JavaScriptCore's virtual machine and context, which take longer to make than all else of an engine.
///
/// Made, used and ended on one thread.
struct Machine {
    let group: JSContextGroupRef
    let context: JSGlobalContextRef
    let loop: UnsafeMutableRawPointer?

    init() {
        // The engine's own timers attach to this thread's loop; it is only pumped where IdleWork says so.
        loop = apsule_loop_new()
        apsule_loop_push(loop)
        group = JSContextGroupCreate()
        context = JSGlobalContextCreateInGroup(group, nil)
    }

    func close() {
        JSGlobalContextRelease(context)
        JSContextGroupRelease(group)
        apsule_loop_pop(loop)
        apsule_loop_free(loop)
    }
}
