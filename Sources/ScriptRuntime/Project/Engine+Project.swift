internal import ApsuleKit
internal import CJavaScriptCore
internal import HostCore
internal import ScriptText
internal import Synchronization

/// Somebody's wait for an answer of the script; hears once.
final class Completion: Sendable {
    private let closure: Mutex<(@Sendable (Result<Payload, HostError>) -> Void)?>

    init(_ closure: @escaping @Sendable (Result<Payload, HostError>) -> Void) { self.closure = Mutex(closure) }

    func finish(_ result: Result<Payload, HostError>) {
        let closure = closure.withLock { closure in
            defer { closure = nil }
            return closure
        }
        closure?(result)
    }

    deinit {
        finish(.failure(HostError("script.stopped", "The script ended before it answered.")))
    }
}

extension Engine {
    func runMain(_ script: Script) {
        let wrapper = Wrapper.main(script)
        sources.add(script.path, text: script.text, indent: wrapper.indent, map: script.sourceMap, isMain: true)
        begin()
        var exception: JSValueRef?
        var function: JSObjectRef?
        turn { function = compile(wrapper, script.path, &exception) }
        if let exception, !isOver { return uncaught(exception) }
        guard !isOver, let path = text(Array(script.path.utf8)) else { return }
        call(prelude.runMain, function, path)
    }

    /// Evaluates a wrapped file; gives its function.
    func compile(_ wrapper: Wrapper, _ path: String, _ exception: UnsafeMutablePointer<JSValueRef?>?) -> JSObjectRef? {
        withJSString(wrapper.text) { source in
            withJSString(path) { path in
                let value = JSEvaluateScript(context, source, nil, path, 1, exception)
                return value.flatMap { JSValueToObject(context, $0, nil) }
            }
        }
    }

    /// A file of the project for `require`, compiled; nil where there is none.
    ///
    /// Sets the exception of what fails.
    func load(_ path: String, isJSON: Bool, _ exception: UnsafeMutablePointer<JSValueRef?>?) -> JSValueRef? {
        do {
            guard let bytes = try hooks.readFile(path) else { return nil }
            if isJSON { return text(bytes) }
            let source = String(decoding: bytes, as: UTF8.self)
            let wrapper = Wrapper.module(source)
            sources.add(path, text: source, indent: wrapper.indent)
            return compile(wrapper, path, exception)
        } catch {
            throwHostError(error, exception)
            return nil
        }
    }

    private func throwHostError(_ error: HostError, _ exception: UnsafeMutablePointer<JSValueRef?>?) {
        var values = (text(error.json.bytes), JSValueRef?.none)
        exception?.pointee = withUnsafePointer(to: &values.0) {
            JSObjectCallAsFunction(context, prelude.makeError, nil, 1, $0, nil)
        }
    }

    func invokeAction(_ name: String, _ payload: Payload, _ completion: Completion) {
        let id = keep(completion)
        expectSettling()
        JSLock(context)
        let name = text(Array(name.utf8))
        let argument = text(payload.json)
        let blobs = BlobTransfer.arrays(context, payload.blobs)
        JSUnlock(context)
        call(prelude.invokeAction, JSValueMakeNumber(context, Double(id)), name, argument, blobs)
    }

    func readState(_ completion: Completion) {
        let id = keep(completion)
        call(prelude.readState, JSValueMakeNumber(context, Double(id)))
    }

    private func keep(_ completion: Completion) -> Int {
        lastCompletion += 1
        completions[lastCompletion] = completion
        return lastCompletion
    }

    /// The script's answer to one of the above.
    func complete(_ id: Int, _ isError: Bool, _ text: JSValueRef?, _ blobs: JSValueRef?) {
        guard let completion = completions.removeValue(forKey: id) else { return }
        let payload = payload(text, blobs)
        guard isError else { return completion.finish(.success(payload)) }
        completion.finish(.failure(HostError(json: payload.value ?? .null, fallback: "script.failed")))
    }
}

extension Natives {
    static func addProject(_ prelude: PreludeFunctions) {
        prelude.addNative("load") { context, _, _, _, values, exception in
            Natives.engine.load(
                Natives.string(context, values?[0]), isJSON: JSValueToBoolean(context, values?[1]), exception)
        }
        prelude.addNative("complete") { context, _, _, count, values, _ in
            Natives.engine.complete(
                Int(JSValueToInt32(context, values?[0], nil)), JSValueToBoolean(context, values?[1]), values?[2],
                count > 3 ? values?[3] : nil)
            return nil
        }
        prelude.addNative("frames") { context, _, _, _, values, _ in
            let stack = Natives.string(context, values?[0])
            let frames = Natives.engine.sources.frames(stack).map { "    at \($0)" }.joined(separator: "\n")
            return Natives.engine.text(Array(frames.utf8))
        }
    }
}
