import MartletCore
import Testing

@Suite struct JSONPatchTests {
    private func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text.utf8) }

    /// RFC 7396, appendix A.
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#), (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
        (#"{"a":"foo"}"#, "null", "null"),
        (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
        ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
    func `merge patches give the results of RFC 7396`(_ value: String, _ patch: String, _ expected: String) throws {
        #expect(try json(value).merging(try json(patch)) == json(expected))
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":1}"#, "[]"), (#"{"a":1}"#, #"{"a":1.0}"#, #"[{"op":"replace","path":"/a","value":1.0}]"#),
        (
            #"{"a/b":1,"c~d":2}"#, #"{"c~d":3}"#,
            #"[{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/c~0d","value":3}]"#
        ),
        (#"[1,2,3]"#, #"[1,3]"#, #"[{"op":"remove","path":"/1"}]"#),
        (#"[1,3]"#, #"[1,2,3]"#, #"[{"op":"add","path":"/1","value":2}]"#),
        (
            #"[1,2,3,4]"#, #"[]"#,
            #"[{"op":"remove","path":"/3"},{"op":"remove","path":"/2"},{"op":"remove","path":"/1"},{"op":"remove","path":"/0"}]"#
        ),
        (
            #"{"a":[{"b":1},{"b":2}]}"#, #"{"a":[{"b":1},{"b":3},4]}"#,
            #"[{"op":"replace","path":"/a/1/b","value":3},{"op":"add","path":"/a/2","value":4}]"#
        ),
    ])
    func `a patch describes the difference of two values`(_ old: String, _ new: String, _ expected: String) throws {
        #expect(JSONPatch(from: try json(old), to: try json(new)).json.text == expected)
    }
}
