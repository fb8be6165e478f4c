internal import ApsuleKit
internal import CJavaScriptCore
internal import Glibc
internal import HostCore

/// The host's functions for the prelude.
///
/// JavaScriptCore calls them on the engine's thread, with no data of ours: the engine is found by the thread.
enum Natives {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The engine of this thread, which outlives its context.
    static var engine: Engine {
        guard let pointer = pthread_getspecific(key) else { preconditionFailure("no engine on this thread") }
        return Unmanaged<Engine>.fromOpaque(pointer).takeUnretainedValue()
    }

    static func unbind() { pthread_setspecific(key, nil) }

    static func bind(_ owner: Engine) {
        pthread_setspecific(key, Unmanaged.passUnretained(owner).toOpaque())
        let prelude = owner.prelude
        prelude.addNative("answer") { _, _, _, count, values, _ in
            Natives.engine.answerCall(values?[0], blobs: count > 1 ? values?[1] : nil)
        }
        prelude.addNative("start") { _, _, _, count, values, _ in
            Natives.engine.startCall(values?[0], blobs: count > 1 ? values?[1] : nil)
            return nil
        }
        prelude.addNative("cancel") { context, _, _, _, values, _ in
            Natives.engine.cancelCall(Int(JSValueToInt32(context, values?[0], nil)))
            return nil
        }
        prelude.addNative("flow") { context, _, _, _, values, _ in
            Natives.engine.setFlow(
                Int(JSValueToInt32(context, values?[0], nil)), Int(JSValueToInt32(context, values?[1], nil)))
            return nil
        }
        prelude.addNative("wakeAt") { context, _, _, _, values, _ in
            Natives.engine.wakeAt = JSValueToNumber(context, values?[0], nil)
            return nil
        }
        prelude.addNative("now") { context, _, _, _, _, _ in JSValueMakeNumber(context, Natives.engine.milliseconds) }
        prelude.addNative("families") { _, _, _, _, _, _ in
            Natives.engine.text(JSON.array(Natives.engine.port.families.map { .string($0.family) }).bytes)
        }
        prelude.addNative("describe") { context, _, _, _, values, _ in
            Natives.engine.describe(family: Natives.string(context, values?[0])).flatMap {
                Natives.engine.text($0.bytes)
            }
        }
        prelude.addNative("uncaught") { _, _, _, _, values, _ in
            Natives.engine.uncaught(values?[0])
            return nil
        }
        prelude.addNative("log") { context, _, _, _, values, _ in
            let level = LogLevel(rawValue: JSValueToInt32(context, values?[0], nil)) ?? .info
            let (engine, line) = (Natives.engine, Natives.string(context, values?[1]))
            // Whoever reads the lines may be slower than the script.
            engine.pulse.pausing { engine.hooks.console(level, line) }
            return nil
        }
        prelude.addNative("part") { _, _, _, _, _, _ in
            Natives.engine.prelude.evaluate(Prelude.url, "apsule:prelude-url")
        }
        addProject(prelude)
        addText(prelude)
    }

    static func string(_ context: JSContextRef?, _ value: JSValueRef?) -> String {
        guard let text = JSValueToStringCopy(context, value, nil) else { return "" }
        defer { JSStringRelease(text) }
        return String(javaScript: text)
    }
}

extension Engine {
    /// A family's operations, numbered for the bridge from now on; nil where there is none of that name.
    func describe(family: String) -> JSON? {
        guard let descriptor = port.families.first(where: { $0.family == family }) else { return nil }
        let list = descriptor.operations.map { operation in
            let bound = BoundOperation(operation)
            operations.append(bound)
            return bound.description(number: operations.count - 1)
        }
        return ["operations": .array(list)]
    }
}
