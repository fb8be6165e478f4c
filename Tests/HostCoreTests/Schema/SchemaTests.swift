import ApsuleKit
import Testing

@testable import HostCore

@Suite struct SchemaTests {
    private func mismatch(_ schema: JSON, _ value: JSON) throws -> SchemaMismatch? {
        try Schema(schema).mismatch(in: value)
    }

    private static let scan: JSON = [
        "type": "object", "additionalProperties": false, "required": ["filter"],
        "properties": [
            "durationMs": ["type": "integer", "minimum": 1, "default": 10_000],
            "filter": [
                "type": "object", "additionalProperties": false,
                "properties": ["services": ["type": "array", "maxItems": 3, "items": ["type": "string"]]],
            ],
            "mode": ["enum": ["active", "passive"], "default": "active"],
        ],
    ]

    // MARK: Errors

    @Test func aMismatchNamesItsPlace() throws {
        let schema = try Schema(Self.scan)
        let error = try #require(throws: HostError.self) { try schema.check(["filter": ["services": [3]]]) }
        #expect(error.code == "host.invalid_argument")
        #expect(error.details == ["path": "filter.services[0]", "expected": "string", "got": "number 3"])
        #expect(error.message == "filter.services[0]: expected string, got number 3")
    }

    @Test(arguments: [
        (#"{}"#, "filter", "object", "nothing"),
        (#"3"#, "", "object", "number 3"),
        (#"{"filter":null}"#, "filter", "object", "null"),
        (#"{"filter":{},"durationMs":1.5}"#, "durationMs", "integer", "number 1.5"),
        (#"{"filter":{},"durationMs":0}"#, "durationMs", "at least 1", "number 0"),
        (#"{"filter":{"services":["a","b","c","d"]}}"#, "filter.services", "at most 3 items", "4 items"),
        (#"{"filter":{"services":"a\u0007"}}"#, "filter.services", "array", #"string "a\u0007""#),
        (#"{"filter":{"a b":1}}"#, #"filter["a b"]"#, "services", "an unknown name"),
    ]) func mismatches(value: String, path: String, expected: String, got: String) throws {
        let mismatch = try #require(try mismatch(Self.scan, JSON(parsing: value)))
        #expect(mismatch.path == path && mismatch.expected == expected && mismatch.got == got, "\(mismatch)")
    }

    @Test func slipsAreUnderstood() throws {
        let schema = try Schema(Self.scan)
        let name = try #require(throws: HostError.self) { try schema.check(["filter": [:], "durationMS": 5]) }
        #expect(name.details["suggestion"] == "durationMs" && name.message.hasSuffix("did you mean \"durationMs\"?"))
        let value = try #require(throws: HostError.self) { try schema.check(["filter": [:], "mode": "activ"]) }
        #expect(value.details["suggestion"] == "active" && value.details["path"] == "mode")
        let far = try #require(throws: HostError.self) { try schema.check(["filter": [:], "zzz": 5]) }
        #expect(far.details["suggestion"] == nil)
    }

    @Test func longValuesAreCutInMessages() throws {
        let long = try #require(try mismatch(["type": "null"], .string(String(repeating: "é\u{202e}", count: 5_000))))
        #expect(long.got.unicodeScalars.count < 80)
        let key = try #require(try mismatch(["additionalProperties": false], [String(repeating: "k", count: 5_000): 1]))
        #expect(key.path.utf8.count < 80)
    }

    @Test func defaultsAreTheTopLevelOnes() throws {
        let schema = try Schema(Self.scan)
        func filled(_ text: String) throws -> String {
            let arguments = Payload(json: Array(text.utf8), blobs: [Blob([7])])
            let filled = schema.filled(arguments, try JSON(parsing: text))
            #expect(filled.blobs.count == 1 && filled.blobs[0].count == 1)
            return String(decoding: filled.json, as: UTF8.self)
        }
        #expect(try filled("{}") == #"{"durationMs":10000,"mode":"active"}"#)
        #expect(try filled(" { } \n") == #" { "durationMs":10000,"mode":"active"}"#)
        #expect(try filled(#"{"mode":"}"}"#) == #"{"mode":"}","durationMs":10000}"#)
        #expect(try filled(#"{"filter":{}} "#) == #"{"filter":{},"durationMs":10000,"mode":"active"}"#)
        #expect(try filled(#"{"mode":null,"durationMs":1}"#) == #"{"mode":null,"durationMs":1}"#)
        #expect(try filled("[]") == "[]")
        #expect(schema.propertyNames == ["durationMs", "filter", "mode"])
    }

    // MARK: Values

    @Test func numbersAreComparedExactly() throws {
        let schema: JSON = ["type": "integer", "minimum": 9_007_199_254_740_993]
        #expect(try mismatch(schema, 9_007_199_254_740_992) != nil)
        #expect(try mismatch(schema, .double(9_007_199_254_740_992)) != nil)
        #expect(try mismatch(schema, 9_007_199_254_740_993) == nil)
        #expect(try mismatch(schema, .double(0x1p70)) == nil)
        #expect(try mismatch(["maximum": .double(0x1p63)], .int(.max)) == nil)
        #expect(try mismatch(["maximum": .int(.max)], .double(0x1p63)) != nil)
        #expect(try mismatch(["maximum": -0.5], 0) != nil)
        #expect(try mismatch(["const": 1], 1.0) == nil)
        #expect(try mismatch(["enum": [["a": 1, "b": 2]]], ["b": 2.0, "a": 1]) == nil)
    }

    @Test func whatJSONCannotSayFitsNothing() throws {
        for value in [Double.nan, .infinity, -.infinity] {
            #expect(try mismatch(["type": "number"], .double(value)) != nil)
            #expect(try mismatch([:], .double(value)) != nil)
        }
    }

    @Test func keysAreComparedByBytes() throws {
        let schema: JSON = ["properties": ["\u{e9}": ["type": "string"]], "additionalProperties": false]
        #expect(try mismatch(schema, ["\u{e9}": "x"]) == nil)
        #expect(try mismatch(schema, ["e\u{301}": "x"]) != nil)
    }

    @Test func manyPropertiesAreFoundInAnyOrder() throws {
        let names = (0..<100).map { "property\($0)" }
        let schema = try Schema([
            "properties": .object(names.map { .init($0, ["type": "integer"]) }), "additionalProperties": false,
            "required": .array(names.suffix(40).map { .string($0) }),
        ])
        let all = JSON.object(names.shuffled().map { .init($0, 1) })
        #expect(schema.mismatch(in: all) == nil)
        for name in names {
            var wrong = all
            wrong.set(name, "x")
            #expect(schema.mismatch(in: wrong)?.path == name)
            var less = all
            less.set(name, nil)
            #expect((schema.mismatch(in: less) == nil) == !names.suffix(40).contains(name))
        }
    }

    @Test func bytesAreBase64OrABlob() throws {
        let schema: JSON = ["type": "string", "contentEncoding": "base64"]
        for good: JSON in ["", "AA==", "AAA=", "AAAA", "+/+/", ["$blob": 0], ["$blob": 7]] {
            #expect(try mismatch(schema, good) == nil, "\(good)")
        }
        for bad: JSON in [
            "A", "AA=", "A===", "AA=A", "====", "-_-_", "AAA\n", "AA A", ["$blob": -1], ["$blob": "0"],
            ["$blob": 0, "x": 1],
            [:], 3, nil,
        ] { #expect(try mismatch(schema, bad) != nil, "\(bad)") }
        #expect(try mismatch(["type": "string"], ["$blob": 0]) != nil)
        let either: JSON = ["oneOf": [["type": "string", "contentEncoding": "base64"], ["type": "array"]]]
        #expect(
            try mismatch(either, ["$blob": 0]) == nil && mismatch(either, []) == nil && mismatch(either, [:]) != nil)
    }

    @Test(arguments: [
        ("int64", JSON.int(.max), true), ("int64", .double(0x1p53), true), ("int64", .double(0x1p63), false),
        ("int64", .double(-0x1p63), true), ("path", "a/b", true), ("path", "/a", false), ("path", "", false),
        ("path", "a\0b", false), ("bluetooth-uuid", "180d", true), ("bluetooth-uuid", "0x180D", true),
        ("bluetooth-uuid", "0000180d", true), ("bluetooth-uuid", "0000180d-0000-1000-8000-00805f9b34fb", true),
        ("bluetooth-uuid", 0x180D, true), ("bluetooth-uuid", -1, false), ("bluetooth-uuid", 0x1_0000_0000, false),
        ("bluetooth-uuid", "180", false), ("bluetooth-uuid", "0x", false), ("bluetooth-uuid", "heart_rate", false),
        ("uri", "http://[::1]:80/", true), ("uri", "http://[::1", false), ("uri", "http://[::1\0]/", false),
        ("uri", "a:", true), ("uri", "://x", false), ("uri", "http://h:8x/", false), ("uri", "ftp://[v1.a:b]/", true),
        ("date-time", "2024-02-29T23:59:60Z", true), ("date-time", "2023-02-29T00:00:00Z", false),
        ("date-time", "2024-01-01T00:00:00.Z", false), ("date-time", "2024-01-01T00:00:00", false),
    ]) func formats(format: String, value: JSON, fits: Bool) throws {
        #expect(try (mismatch(["format": .string(format)], value) == nil) == fits)
    }

    @Test func oneOfReportsTheKindThatWasMeant() throws {
        let schema: JSON = [
            "oneOf": [["type": "string", "minLength": 4], ["type": "integer", "minimum": 5], ["type": "null"]]
        ]
        #expect(try mismatch(schema, "abc")?.expected == "at least 4 characters")
        #expect(try mismatch(schema, 3)?.expected == "at least 5")
        #expect(try mismatch(schema, true)?.expected == "null, integer or string")
        #expect(try mismatch(["oneOf": [["type": "integer"], ["type": "number"]]], 1) != nil)
    }

    // MARK: Reading

    @Test(arguments: [
        (#"{"typ":"string"}"#, "typ"), (#"{"type":"strnig"}"#, "type"), (#"{"type":[]}"#, "type"),
        (#"{"type":["string","string"]}"#, "type"), (#"{"$ref":"x"}"#, "$ref"), (#"{"title":"t"}"#, "title"),
        (#"{"enum":[]}"#, "enum"), (#"{"required":"a"}"#, "required"), (#"{"required":["a","a"]}"#, "required"),
        (#"{"required":["a"],"additionalProperties":false}"#, "required"), (#"{"properties":[]}"#, "properties"),
        (#"{"minimum":"1"}"#, "minimum"), (#"{"minimum":2,"maximum":1}"#, "minimum"),
        (#"{"minLength":-1}"#, "minLength"),
        (#"{"minLength":1.5}"#, "minLength"), (#"{"minItems":3,"maxItems":2}"#, "minItems"),
        (#"{"pattern":"("}"#, "pattern"),
        (#"{"pattern":3}"#, "pattern"), (#"{"format":"emial"}"#, "format"),
        (#"{"contentEncoding":"hex"}"#, "contentEncoding"),
        (#"{"description":1}"#, "description"), (#"{"oneOf":[]}"#, "oneOf"), (#"{"const":1,"enum":[1]}"#, "const"),
        (#"{"type":"integer","minLength":1}"#, "minLength"), (#"{"type":"string","format":"int64"}"#, "format"),
        (#"{"type":"integer","default":"x"}"#, "default"),
    ]) func whatTheVocabularyLacksIsRefused(schema: String, key: String) throws {
        let json = try JSON(parsing: schema)
        let error = try #require(throws: HostError.self) { try Schema(json, at: "operations.x.arguments") }
        #expect(error.code == "descriptor.invalid")
        #expect(error.details["path"] == "operations.x.arguments")
        #expect(error.details["key"] == .string(key))
        #expect(error.details["value"] == json[key])
        #expect(error.details["rule"]?.stringValue?.isEmpty == false)
    }

    @Test func errorsInsideNameTheWay() throws {
        let schema: JSON = ["properties": ["a": ["items": ["oneOf": [["type": "string"], ["typo": 1]]]]]]
        let error = try #require(throws: HostError.self) { try Schema(schema, at: "operations.x.result") }
        #expect(error.details["path"] == "operations.x.result.properties.a.items.oneOf[1]")
        let near = try #require(throws: HostError.self) { try Schema(["minlength": 1]) }
        #expect(near.message.contains("minLength"))
    }

    @Test func privateKeywordsAreIgnoredAndDepthIsBounded() throws {
        _ = try Schema(["x-unit": "ms", "x-anything": [1, 2], "type": "integer"])
        var deep: JSON = [:]
        for _ in 0..<40 { deep = ["items": deep] }
        #expect(throws: HostError.self) { try Schema(deep) }
    }

    @Test func aSchemaIsAnObject() {
        for json: JSON in [true, false, nil, [], "string", 1] {
            #expect(throws: HostError.self) { try Schema(json) }
        }
    }
}
