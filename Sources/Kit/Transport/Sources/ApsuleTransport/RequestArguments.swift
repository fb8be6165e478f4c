public import ApsuleKit

extension HTTPRequest {
    /// What a call's arguments say, of those that its descriptor knows: url, method, headers, query, one of json, text,
    /// base64, file and multipart, maxRedirects, cookies, compressed, connectTimeoutMs.
    ///
    /// - Throws: `host.invalid_argument`, and what opening a file of the body does.
    public init(_ call: Call, method: String = "GET") throws(HostError) {
        let arguments = call.arguments
        let url = try WebURL(call["url"], schemes: ["https", "http"])
        self.init(
            try HTTPRequest.method(call["method"] ?? method), url.adding(try Self.query(arguments.child("query"))),
            headers: try HTTPHeader.list(arguments.child("headers")))
        try setBody(call)
        maximumRedirects = try call["maxRedirects"] ?? 10
        usesCookies = try call["cookies"] ?? true
        acceptsCompression = try call["compressed"] ?? true
        connectTimeout = .milliseconds(try call["connectTimeoutMs"] ?? 30_000)
    }

    private static func query(_ arguments: Arguments) throws(HostError) -> [(name: String, value: String)] {
        var pairs: [(String, String)] = []
        for member in try arguments.data().members ?? [] {
            for value in member.value.arrayValue ?? [member.value] {
                pairs.append((member.key, value.stringValue ?? value.text))
            }
        }
        return pairs
    }

    private mutating func setBody(_ call: Call) throws(HostError) {
        let names = ["json", "text", "base64", "file", "multipart"]
        // JSON's null is a body, too.
        let given = names.filter { call.arguments.has($0) || $0 == "json" && call.arguments.json[$0] != nil }
        guard let name = given.first else { return }
        guard given.count == 1 else {
            throw .invalidArgument(
                "", expected: "at most one of " + names.joined(separator: ", "), got: given.joined(separator: " and "))
        }
        if method == "HEAD" {
            throw .invalidArgument(name, expected: "no body, which HEAD does not have", got: name)
        }
        var type = "application/octet-stream"
        switch name {
        case "json":
            body = .bytes(try call.arguments.child("json").data().bytes)
            type = "application/json"
        case "text":
            let text: String = try call["text"]
            body = .bytes(Array(text.utf8))
            type = "text/plain;charset=UTF-8"
        case "base64":
            let bytes: Bytes = try call["base64"]
            body = .bytes(bytes.bytes)
        case "file": body = .file(try FileSource(call, path: call["file"]))
        default:
            let parts: [Part] = try call["multipart"]
            body = .multipart(try parts.map { (part) throws(HostError) in try part.opened(call) })
            return
        }
        if !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            headers.append(HTTPHeader("Content-Type", type))
        }
    }
}

/// One part of a form, as it is written in the arguments.
private struct Part: ArgumentValue {
    let name: String
    let fileName: String?
    let contentType: String?
    let path: String?
    let bytes: [UInt8]
    let place: String

    init(_ arguments: Arguments) throws(HostError) {
        name = try arguments["name"]
        fileName = try arguments["fileName"]
        contentType = try arguments["contentType"]
        path = try arguments["file"]
        place = arguments.path
        let given = ["text", "base64", "file"].filter(arguments.has)
        guard given.count == 1 else {
            let got = given.isEmpty ? "none" : given.joined(separator: " and ")
            throw .invalidArgument(place, expected: "exactly one of text, base64, file", got: got)
        }
        let text: String? = try arguments["text"]
        let binary: Bytes? = try arguments["base64"]
        bytes = text.map { Array($0.utf8) } ?? binary?.bytes ?? []
        // They become lines of the part's head.
        for (member, value) in [("name", name), ("fileName", fileName ?? ""), ("contentType", contentType ?? "")] {
            let isType = member == "contentType"
            if value.utf8.contains(where: { $0 == 0 || isType && ($0 < 0x20 || $0 == 0x7f) }) {
                throw .invalidArgument("\(place).\(member)", expected: "text in one line", got: "a control character")
            }
        }
    }

    func opened(_ call: Call) throws(HostError) -> HTTPPart {
        guard let path else {
            return HTTPPart(name: name, fileName: fileName, contentType: contentType, content: .bytes(bytes))
        }
        let own = path.split(separator: "/").last.map(String.init)
        return HTTPPart(
            name: name, fileName: fileName ?? own, contentType: contentType ?? "application/octet-stream",
            content: .file(try FileSource(call, path: path)))
    }
}
