import Foundation
import MartletAPI
import MartletCore

/// Encrypts codes from other services while the mail with the code is waiting.
struct SealedCodes: Sendable {
    private struct Content: Codable {
        var code: String
        var expires: Date
    }

    let sealing: SealingKey
    let now: @Sendable () -> Date

    func seal(_ code: String, secondsLeft: Int64, for order: MailOrder) throws -> Data {
        try sealing.seal(
            value: Content(code: code, expires: now() + TimeInterval(secondsLeft)), for: Self.label(order))
    }

    /// Nil if the code has expired, or if the internal secret has changed since.
    func code(of order: MailOrder) -> (code: String, secondsLeft: Int64)? {
        guard let content = order.sealedCode.flatMap({ sealing.value(Content.self, in: $0, for: Self.label(order)) })
        else { return nil }
        let secondsLeft = content.expires.timeIntervalSince(now())
        return secondsLeft > 0 ? (content.code, Int64(secondsLeft)) : nil
    }

    private static func label(_ order: MailOrder) -> String {
        "mailed code \(order.appID) \(order.environment.rawValue) \(order.email)"
    }
}
