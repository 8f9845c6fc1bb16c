/// Flags that devices may evaluate and attributes for them, always the same for a seed (SplitMix64).
struct RandomFlags {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    private mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    private static let names = ["country", "plan", "age", "appVersion", "tags", "vip", "user.id", "deep.0.a", "id"]
    private static let values = [
        #""CH""#, #""ch""#, #""de""#, #""""#, #""10""#, #"" 9 ""#, #""1e1""#, #""nan""#, #""1.2.0""#, #""1.10.0-rc.1""#,
        #""v2.0""#, #""Zürich 🚲""#, "0", "-0", "1", "10", "10.50", "-3.5", "1e21", "true", "false", "null",
        "[]", #"["CH","a"]"#, #"["A",10,null]"#, "{}", #"{"a":1}"#, #"[{"a":1},{"a":10}]"#,
    ]
    private static let shares = ["0", "0.01", "10", "33.33", "50", "99.99", "100"]

    mutating func attributes() -> String {
        var members = [#""id":"u\#(number(10_000))""#]
        if number(10) == 0 { members = ["\"id\":" + value()] }
        for name in ["country", "plan", "age", "appVersion", "tags", "vip", "deep"] where number(4) > 0 {
            members.append("\"\(name)\":" + value())
        }
        if number(2) == 0 { members.append(#""user":{"id":"ada"},"userId":"ada""#) }
        return "{" + members.joined(separator: ",") + "}"
    }

    mutating func document() -> String {
        let flags = (0..<6).map { index in
            let rules = (0..<number(4)).map { _ in rule() }.joined(separator: ",")
            let isEnabled = number(8) > 0
            return #""f\#(index)":{"type":"string","default":"none","localEvaluation":true,"enabled":\#(isEnabled),"#
                + #""variants":{"blue":"b","red":"r"},"rules":[\#(rules)]}"#
        }
        return #"{"flags":{\#(flags.joined(separator: ","))},"#
            + #""conditions":{"one":\#(condition(2)),"two":{"$or":[{"$condition":"one"},\#(condition(2))]}}}"#
    }

    private mutating func rule() -> String {
        var members: [String] = []
        switch number(4) {
        case 0: break
        case 1: members.append(#""when":"two""#)
        default: members.append(#""when":"# + condition(3))
        }
        switch number(7) {
        case 0: members.append(#""variant":"blue""#)
        case 1: members.append(#""value":"r","percent":\#(share()),"seed":"s\#(number(3))""#)
        case 2:
            members.append(
                #""split":[{"variant":"blue","percent":\#(number(50))},{"value":"c","percent":\#(number(50))}],"#
                    + #""by":"plan""#)
        case 3: members.append(#""force":"f","coverage":0.\#(number(10)),"hashVersion":\#(number(3) + 1)"#)
        case 4: members.append(#""force":"g","range":[0.\#(number(5)),0.\#(number(5) + 5)],"hashAttribute":"age""#)
        case 5:
            members.append(
                #""variations":["x","y","z"],"weights":[0.2,0.3,0.5],"coverage":0.\#(number(10)),"hashVersion":2,"#
                    + #""key":"e","namespace":["n",0,0.\#(number(9) + 1)],"meta":[{"key":"k"},{"passthrough":true}]"#)
        default:
            members.append(
                #""value":"h","filters":[{"seed":"t","ranges":[[0,0.2],[0.4,0.\#(number(6) + 4)]],"#
                    + #""hashVersion":\#(number(3))}]"#)
        }
        if number(10) == 0 { members.append(#""enabled":false"#) }
        return "{" + members.joined(separator: ",") + "}"
    }

    private mutating func condition(_ depth: Int) -> String {
        switch depth == 0 ? 9 : number(10) {
        case 0: #"{"$or":[\#(condition(depth - 1)),\#(condition(depth - 1))]}"#
        case 1: #"{"$nor":[\#(condition(depth - 1))]}"#
        case 2: #"{"$and":[\#(condition(depth - 1)),\#(condition(depth - 1))]}"#
        case 3: #"{"$not":\#(condition(depth - 1))}"#
        case 4: #"{"$percent":{"seed":"p","to":\#(share()),"by":"id"}}"#
        default: "{\"\(pick(Self.names))\":\(test(2))}"
        }
    }

    private mutating func test(_ depth: Int) -> String {
        switch number(depth == 0 ? 5 : 9) {
        case 0: value()
        case 1:
            #"{"\#(pick(["$eq", "$ne", "$lt", "$lte", "$gt", "$gte"]))":\#(value())}"#
        case 2: #"{"\#(pick(["$veq", "$vne", "$vlt", "$vlte", "$vgt", "$vgte"]))":\#(value())}"#
        case 3: #"{"\#(pick(["$in", "$nin", "$ini", "$nini"]))":[\#(value()),\#(value()),"ch"]}"#
        case 4: #"{"\#(pick(["$exists", "$type"]))":\#(pick(["true", "0", "\"string\"", "\"array\""]))}"#
        case 5: #"{"$not":\#(test(depth - 1))}"#
        case 6: #"{"$size":\#(test(depth - 1))}"#
        case 7: #"{"\#(pick(["$all", "$alli"]))":["a",\#(test(depth - 1))]}"#
        default: #"{"$elemMatch":\#(number(2) == 0 ? #"{"a":{"$gt":1}}"# : test(depth - 1))}"#
        }
    }

    private mutating func value() -> String { pick(Self.values) }
    private mutating func share() -> String { pick(Self.shares) }
    private mutating func number(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    private mutating func pick(_ texts: [String]) -> String { texts[number(texts.count)] }
}
