import MartletCore
import MartletLogic
import Testing

@Suite struct CanonicalJSONTests {
    @Test(
        "The examples of RFC 8785 give the published results",
        arguments: [
            // §3.2.2
            (
                #"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
                #"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
            ),
            // §3.2.3
            (
                #"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
                "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
            ),
            (
                #" { "b" : [ -0.0, 1.0 ] , "a" : { "d" : "\u007f", "c" : [] } } "#,
                "{\"a\":{\"c\":[],\"d\":\"\u{7f}\"},\"b\":[0,1]}"
            ),
        ])
    func examples(_ input: String, _ output: String) throws {
        let value = try JSONValue(parsing: input.utf8)
        let canonical = try CanonicalJSON.text(of: value)
        #expect(Array(canonical.utf8) == Array(output.utf8))
        #expect(try CanonicalJSON.text(of: JSONValue(parsing: canonical.utf8)) == canonical)
        #expect(LogicValue(value).json == canonical, "the client library writes the same text")
    }

    @Test("Values without a canonical form are refused")
    func refused() throws {
        #expect(throws: CanonicalJSON.Failure.numberTooLarge("1e399")) {
            try CanonicalJSON.text(of: JSONValue(parsing: "[1e399]".utf8))
        }
    }
}
