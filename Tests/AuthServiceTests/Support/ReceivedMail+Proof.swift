import MartletTesting
import Testing

extension ReceivedMail {
    /// The code, which has a line of its own.
    var code: String {
        get throws {
            try #require(
                text.split(separator: "\n").first { $0.count == 8 && $0.allSatisfy(\.isNumber) }.map(String.init),
                "\(text)")
        }
    }

    /// The token in the link.
    var token: String {
        get throws { try #require(text.firstMatch(of: /token=(mt_[A-Za-z0-9_-]{43})/).map { String($0.1) }, "\(text)") }
    }
}
