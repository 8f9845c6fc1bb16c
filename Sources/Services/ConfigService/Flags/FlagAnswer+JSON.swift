import Crypto
import Foundation
import MartletCore
import MartletFlags
import MartletHTTP

extension FlagAnswer {
    /// As OFREP has it, with its key.
    var ofrep: String {
        let metadata = rule.isEmpty ? "" : #","metadata":{"rule":\#(JSONValue.quote(rule))}"#
        return
            #"{"key":\#(JSONValue.quote(key)),"value":\#(value.text),"reason":"\#(reason.rawValue)","variant":\#(JSONValue.quote(variant))\#(metadata)}"#
    }

    /// As a member of an object by key.
    var member: String {
        JSONValue.quote(key)
            + #":{"type":"\#(kind.rawValue)","value":\#(value.text),"variant":\#(JSONValue.quote(variant)),"reason":"\#(reason.rawValue)"}"#
    }
}

extension EntityTag {
    /// What all flags answer in a context: the same as long as neither the published flags nor the context change, and no date of a condition passes.
    ///
    /// Known before anything is evaluated.
    init(_ live: (document: LiveDocument, flags: FlagDocument)?, _ context: EvaluationContext, at date: Date) {
        let period = live?.flags.period(at: date.timeIntervalSince1970) ?? 0
        let text = "\(live?.document.sha256 ?? "none")\n\(period)\n\(context.identity)"
        let digest = SHA256.hash(data: Data(text.utf8))
        self.init(text: digest.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }
}
