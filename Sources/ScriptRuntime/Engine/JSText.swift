internal import CJavaScriptCore

/// Text and bytes across the engine's border.
extension String {
    /// The text of an engine string; lone surrogates become U+FFFD.
    init(javaScript string: JSStringRef) {
        let length = JSStringGetLength(string)
        guard length > 0, let characters = JSStringGetCharactersPtr(string) else {
            self = ""
            return
        }
        self = String(decoding: UnsafeBufferPointer(start: characters, count: length), as: UTF16.self)
    }
}

/// Makes an engine string of text and releases it afterwards.
func withJSString<R>(_ text: String, _ body: (JSStringRef?) -> R) -> R {
    let string = Array(text.utf16).withUnsafeBufferPointer { JSStringCreateWithCharacters($0.baseAddress, $0.count) }
    defer { if let string { JSStringRelease(string) } }
    return body(string)
}

/// Memory that is used again for what crosses as UTF-8, so that a call costs no allocation for it.
struct Scratch: ~Copyable {
    private var buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: 4_096)
    private static let kept = 1 << 20

    deinit { buffer.deallocate() }

    private mutating func reserve(_ count: Int) {
        guard buffer.count < count || (buffer.count > Self.kept && count < Self.kept) else { return }
        buffer.deallocate()
        buffer = .allocate(capacity: max(count, 4_096))
    }

    /// The string as UTF-8.
    ///
    /// Text that holds no well-formed Unicode gives nothing.
    mutating func bytes(of string: JSStringRef) -> [UInt8] {
        let maximum = JSStringGetMaximumUTF8CStringSize(string)
        reserve(maximum)
        let written = JSStringGetUTF8CString(string, buffer.baseAddress, maximum)
        guard written > 1 else { return [] }
        return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[0..<written - 1]).withMemoryRebound(
            to: UInt8.self
        ) { Array($0) }
    }

    /// An engine string of UTF-8 bytes, which the caller releases.
    mutating func string(of bytes: [UInt8]) -> JSStringRef? {
        reserve(bytes.count + 1)
        bytes.withUnsafeBytes { source in
            UnsafeMutableRawBufferPointer(buffer).copyMemory(from: source)
        }
        buffer[bytes.count] = 0
        return JSStringCreateWithUTF8CString(buffer.baseAddress)
    }
}
