import ApsuleKit
import Testing

@Suite struct JSONTests {
    // MARK: Numbers

    @Test(arguments: [
        ("9223372036854775807", JSON.int(.max)), ("-9223372036854775808", .int(.min)), ("0", .int(0)),
        ("9007199254740993", .int(9_007_199_254_740_993)), ("9223372036854775808", .double(0x1p63)),
        ("-9223372036854775809", .double(-0x1p63)), ("18446744073709551615", .double(0x1p64)), ("1.0", .double(1)),
        ("1e2", .double(100)), ("0.1", .double(0.1)), ("123.456e-2", .double(1.23456)),
        ("5e-324", .double(.leastNonzeroMagnitude)),
        ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)), ("1e-400", .double(0)),
        ("9007199254740993.0", .double(9_007_199_254_740_992)), ("0.30000000000000004", .double(0.1 + 0.2)),
        ("2.2250738585072011e-308", .double(Double(bitPattern: 0xF_FFFF_FFFF_FFFF))), ("1E23", .double(1e23)),
    ]) func numberIsTheNearest(text: String, expected: JSON) throws { #expect(try JSON(parsing: text) == expected) }

    @Test func minusZeroStays() throws {
        for text in ["-0", "-0.0", "-0e5"] {
            #expect(try JSON(parsing: text).doubleValue?.sign == .minus)
            #expect(try JSON(parsing: text).text == "-0")
        }
    }

    @Test func numbersBeyondADoubleAreRefused() {
        for text in ["1e309", "-1e309", String(repeating: "9", count: 400), "1e99999999999999999999"] {
            #expect(throws: JSON.Failure.self) { try JSON(parsing: text) }
        }
    }

    @Test func everyInt64IsExact() throws {
        var random = SystemRandomNumberGenerator()
        for shift in 0..<64 {
            let value = Int64(bitPattern: random.next() >> UInt64(shift))
            for number in [value, ~value] { #expect(try JSON(parsing: JSON.int(number).text) == .int(number)) }
        }
    }

    @Test func everyDoubleReadsBack() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            let back = try JSON(parsing: JSON.double(value).text)
            #expect(back.doubleValue?.bitPattern == value.bitPattern, "\(value)")
            #expect(try JSON(parsing: JSON.double(value).canonical).doubleValue == value, "\(value)")
        }
    }

    @Test func whatIsNoNumberIsWrittenAsNull() {
        let values: JSON = [.double(.nan), .double(.infinity), .double(-.infinity)]
        #expect(values.text == "[null,null,null]")
        #expect(values.canonical == "[null,null,null]")
    }

    // MARK: Strings

    @Test(arguments: [
        #""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #""\ud800x""#, #""\ud800\n""#, #""\udc00\ud800""#,
        #"{"\udfff":1}"#,
    ]) func halfASurrogatePairIsRefused(text: String) throws {
        let error = try #require(throws: JSON.Failure.self) { try JSON(parsing: text) }
        #expect(error.message.contains("surrogate"))
        #expect(Array(text.utf8)[error.offset] == UInt8(ascii: "\\"))
    }

    @Test func escapesStandForTheirCharacters() throws {
        let text = #""\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDE00\u20aC""#
        #expect(try JSON(parsing: text) == "\"\\/\u{8}\u{C}\n\r\t\0é😀€")
    }

    @Test func everyScalarReadsBack() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            var text = ""
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                let limit: UInt32 = [0x30, 0x80, 0x800, 0x10000, 0x110000][Int.random(in: 0..<5, using: &random)]
                if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) {
                    text.unicodeScalars.append(scalar)
                }
            }
            let value = JSON.object([.init(text, .string(text))])
            #expect(try JSON(parsing: value.bytes) == value)
        }
    }

    @Test func stringsCompareByBytes() throws {
        let value = try JSON(parsing: "{\"\u{e9}\": 1, \"e\u{301}\": 2}")
        #expect(value.members?.count == 2)
        #expect(value["\u{e9}"] == 1)
        #expect(value["e\u{301}"] == 2)
        #expect(JSON.string("\u{e9}") != JSON.string("e\u{301}"))
        #expect(JSON.string("\u{212b}\u{323}") != JSON.string("\u{323}\u{212b}"))
    }

    @Test func badUTF8IsRefusedWhereItStands() throws {
        let error = try #require(throws: JSON.Failure.self) {
            try JSON(parsing: Array("[\"abc".utf8) + [0xC3, 0x28, 0x22, 0x5D])
        }
        #expect(error.offset == 5)
    }

    // MARK: Objects

    @Test func theLastOfDuplicatesStaysAtThePlaceOfTheFirst() throws {
        #expect(try JSON(parsing: #"{"a":1,"b":2,"a":3}"#).text == #"{"a":3,"b":2}"#)
        let built = JSON.object([.init("a", 1), .init("a", 2)])
        #expect(built["a"] == 2)
        #expect(built.canonical == #"{"a":2}"#)
    }

    @Test(.timeLimit(.minutes(1))) func manyKeysTakeNoQuadraticTime() throws {
        let clock = ContinuousClock()
        var times: [Duration] = []
        for count in [10_000, 100_000] {
            let same = "{" + repeatElement(#""key":1"#, count: count).joined(separator: ",") + "}"
            let other = "{" + (0..<count).map { "\"key\($0)\":\($0)" }.joined(separator: ",") + "}"
            var keys = (0, 0)
            times.append(
                clock.measure {
                    keys.0 = (try? JSON(parsing: same))?.members?.count ?? 0
                    keys.1 = (try? JSON(parsing: other))?.members?.count ?? 0
                })
            #expect(keys == (1, count))
        }
        #expect(times[1] < times[0] * 40, "ten times the keys took \(times)")
    }

    @Test func manyKeysKeepTheLastValue() throws {
        let text = "{" + (0..<1_000).map { "\"k\($0 % 100)\":\($0)" }.joined(separator: ",") + "}"
        let value = try JSON(parsing: text)
        #expect(value.members?.map(\.key) == (0..<100).map { "k\($0)" })
        #expect(value["k7"] == 907)
    }

    @Test func setReplacesAppendsAndRemoves() {
        var value: JSON = ["a": 1, "b": 2]
        value.set("b", 3)
        value.set("c", 4)
        value.set("a", nil)
        #expect(value == ["b": 3, "c": 4])
        value = 7
        value.set("x", true)
        #expect(value == ["x": true])
        value.set("missing", nil)
        #expect(value == ["x": true])
    }

    @Test func readersAnswerNilForOtherKinds() {
        let value: JSON = ["n": 1, "d": 2.0, "half": 0.5, "s": "t", "b": true, "a": [1, nil]]
        #expect(value["d"]?.intValue == 2 && value["half"]?.intValue == nil && value["n"]?.doubleValue == 1)
        #expect(value["s"]?.intValue == nil && value["n"]?.stringValue == nil && value["b"]?.boolValue == true)
        #expect(value["a"]?[1]?.isNull == true && value["a"]?[2] == nil && value["a"]?[-1] == nil && value[0] == nil)
        #expect(value["missing"] == nil && value["s"]?["x"] == nil)
        #expect(JSON.double(1e300).intValue == nil && JSON.double(.nan).intValue == nil)
    }

    // MARK: Text

    @Test func prettyAndCompact() {
        let value: JSON = ["a": [1, ["b": []]], "e": [:]]
        #expect(value.text == #"{"a":[1,{"b":[]}],"e":{}}"#)
        #expect(value.pretty() == "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"e\": {}\n}")
    }

    /// The examples of RFC 8785, and what integers beyond 2^53 become.
    @Test func canonical() throws {
        let numbers = try JSON(parsing: "[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]")
        #expect(numbers.canonical == "[333333333.3333333,1e+30,4.5,0.002,1e-27]")
        let more: JSON = [1e21, 1e20, 123e-8, 1e-6, 1e-7, -0.0, 1.0, .int(.max), 1.5e300, -2.5]
        #expect(
            more.canonical
                == "[1e+21,100000000000000000000,0.00000123,0.000001,1e-7,0,1,9223372036854775807,1.5e+300,-2.5]")
        let keys = try JSON(
            parsing: #"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#)
        #expect(keys.canonical == "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}")
    }

    @Test func failuresKnowLineAndColumn() throws {
        let text = "{\n  \"é\": 1,\n  \"b\" 2\n}"
        let error = try #require(throws: JSON.Failure.self) { try JSON(parsing: text) }
        let position = error.position(in: Array(text.utf8))
        #expect(position.line == 3 && position.column == 7)
        #expect(error.message == "expected ':'")
    }
}
