import MartletCore
import MartletFlags

extension FlagAnswer {
    /// The answer in the form of OFREP, including its key.
    var ofrep: String {
        let metadata = rule.isEmpty ? "" : #","metadata":{"rule":\#(JSONValue.quote(rule))}"#
        return
            #"{"key":\#(JSONValue.quote(key)),"value":\#(value.text),"reason":"\#(reason.rawValue)","variant":\#(JSONValue.quote(variant))\#(metadata)}"#
    }

    /// The answer as `"key":{…}`, a member of a JSON object that has one member for each flag.
    var member: String {
        JSONValue.quote(key)
            + #":{"type":"\#(kind.rawValue)","value":\#(value.text),"variant":\#(JSONValue.quote(variant)),"reason":"\#(reason.rawValue)"}"#
    }
}
