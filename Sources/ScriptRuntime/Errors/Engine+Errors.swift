internal import ApsuleKit
internal import CJavaScriptCore
internal import ScriptText

extension Engine {
    /// Something was thrown that nothing caught: the project fails.
    func uncaught(_ value: JSValueRef?) {
        fail(describe(value))
    }

    /// What was thrown, with its place.
    func describe(_ value: JSValueRef?) -> ScriptError {
        var exception: JSValueRef?
        var values = (value, value)
        // Not a turn of its own: it may happen within one.
        let text = withUnsafePointer(to: &values.0) {
            JSObjectCallAsFunction(context, prelude.describe, nil, 1, $0, &exception)
        }
        guard exception == nil, let text, let json = try? JSON(parsing: Array(Natives.string(context, text).utf8))
        else {
            return ScriptError(message: "The script threw something that cannot be shown.")
        }
        var error = ScriptError(
            name: json["name"]?.stringValue ?? "", message: json["message"]?.stringValue ?? "",
            code: json["code"]?.stringValue, details: json["details"] ?? .object([]),
            frames: sources.frames(json["stack"]?.stringValue ?? ""))
        // The stack of a syntax error is that of who loaded the file; its own place is its line.
        if error.name == "SyntaxError", let file = json["file"]?.stringValue, let line = json["line"]?.intValue {
            let place = sources.original("", file, Int(line), nil)
            let first = error.frames.first
            if first?.file != place.file || first?.line != place.line { error.frames.insert(place, at: 0) }
        }
        return sources.located(error)
    }

    /// The error at the place that the engine's stack names.
    func located(_ error: ScriptError, stack: String) -> ScriptError {
        var error = error
        error.frames = sources.frames(stack)
        return sources.located(error)
    }
}
