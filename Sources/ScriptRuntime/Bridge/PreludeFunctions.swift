internal import CJavaScriptCore

/// The JavaScript that runs before a script does, embedded from the folder of that name: `main`, and what waits until a
/// script needs it.
enum Prelude {}

/// The prelude's own functions, as the engine calls them.
final class PreludeFunctions {
    private(set) var nameFamilies: JSObjectRef?
    private(set) var deliver: JSObjectRef?
    private(set) var deliverOne: JSObjectRef?
    private(set) var fireTimer: JSObjectRef?
    private(set) var runMain: JSObjectRef?
    private(set) var describe: JSObjectRef?
    private(set) var invokeAction: JSObjectRef?
    private(set) var readState: JSObjectRef?
    private(set) var unhandled: JSObjectRef?
    private(set) var makeError: JSObjectRef?
    /// The host's functions, as the prelude calls them.
    let natives: JSObjectRef?
    private let context: JSGlobalContextRef
    private var kept: [JSObjectRef?] = []

    init(_ context: JSGlobalContextRef) {
        self.context = context
        natives = JSObjectMake(context, nil, nil)
        keep(natives)
    }

    func addNative(_ name: String, _ callback: @escaping JSObjectCallAsFunctionCallback) {
        withJSString(name) { name in
            let function = JSObjectMakeFunctionWithCallback(context, name, callback)
            JSObjectSetProperty(context, natives, name, function, 0, nil)
        }
    }

    /// Runs the prelude, which defines the globals and gives the functions above.
    func load(_ shared: SharedFields) {
        guard let factory = evaluate(Prelude.main, "apsule:prelude") else { return }
        withUnsafeTemporaryAllocation(of: JSValueRef?.self, capacity: 2) { arguments in
            arguments[0] = natives
            arguments[1] = shared.array
            guard let functions = JSObjectCallAsFunction(context, factory, nil, 2, arguments.baseAddress, nil),
                let object = JSValueToObject(context, functions, nil)
            else { preconditionFailure("the prelude does not run") }
            keep(object)
            func find(_ name: String) -> JSObjectRef? {
                withJSString(name) {
                    let function = JSValueToObject(context, JSObjectGetProperty(context, object, $0, nil), nil)
                    precondition(function != nil, "the prelude has no such function")
                    return function
                }
            }
            nameFamilies = find("nameFamilies")
            (deliver, deliverOne, fireTimer) = (find("deliver"), find("deliverOne"), find("fireTimer"))
            (runMain, describe, unhandled) = (find("runMain"), find("describe"), find("unhandled"))
            (invokeAction, readState, makeError) = (find("invokeAction"), find("readState"), find("makeError"))
        }
        JSGlobalContextSetUnhandledRejectionCallback(context, unhandled, nil)
    }

    /// A part of the prelude: one function expression.
    func evaluate(_ source: StaticString, _ name: String) -> JSObjectRef? {
        var exception: JSValueRef?
        let text = source.utf8Start.withMemoryRebound(to: CChar.self, capacity: source.utf8CodeUnitCount) {
            JSStringCreateWithUTF8CString($0)
        }
        defer { if let text { JSStringRelease(text) } }
        let value = withJSString(name) { JSEvaluateScript(context, text, nil, $0, 1, &exception) }
        precondition(exception == nil, "a part of the prelude does not compile")
        return JSValueToObject(context, value, nil)
    }

    private func keep(_ object: JSObjectRef?) {
        JSValueProtect(context, object)
        kept.append(object)
    }

    func close(_ context: JSGlobalContextRef) {
        for object in kept { JSValueUnprotect(context, object) }
        kept = []
    }
}
