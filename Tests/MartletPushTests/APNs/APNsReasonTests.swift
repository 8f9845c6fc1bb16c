import Foundation
import NIOHPACK
import Testing

@testable import MartletPush

@Suite struct APNsReasonTests {
    private let sent = Date(timeIntervalSince1970: 1_795_200_000)

    private func outcome(_ status: Int, _ body: String, retryAfter: String? = nil) throws -> PushOutcome {
        var headers = HPACKHeaders([(":status", "\(status)"), ("apns-id", "eabeae54-14a8-11e5-b60b-1697f925ec7b")])
        if let retryAfter { headers.add(name: "retry-after", value: retryAfter) }
        var answer = try #require(APNsAnswer(headers))
        answer.body = Array(body.utf8)
        return answer.outcome(sent: sent, now: sent)
    }

    /// The table on Apple's page, and the meaning of each reason here.
    static let reasons: [(Int, String, PushFailure.Meaning)] = {
        let sent = Date(timeIntervalSince1970: 1_795_200_000)
        let rejected = [
            "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic", "DeviceTokenNotForTopic",
            "DuplicateHeaders",
            "InvalidPushType", "MissingDeviceToken", "MissingTopic", "PayloadEmpty", "TopicDisallowed",
        ].map { (400, $0, PushFailure.Meaning.messageRejected) }
        let broken = [
            "BadCertificate", "BadCertificateEnvironment", "ExpiredProviderToken", "Forbidden", "InvalidProviderToken",
            "MissingProviderToken",
            "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken",
        ].map { (403, $0, PushFailure.Meaning.credentialBroken) }
        return rejected + broken + [
            (400, "BadDeviceToken", .deviceGone(unlessRegisteredSince: sent)), (400, "IdleTimeout", .notSent),
            (404, "BadPath", .messageRejected),
            (405, "MethodNotAllowed", .messageRejected),
            (410, "Unregistered", .deviceGone(unlessRegisteredSince: sent)),
            (410, "ExpiredToken", .deviceGone(unlessRegisteredSince: sent)), (413, "PayloadTooLarge", .messageRejected),
            (429, "TooManyProviderTokenUpdates", .backOff(.credential, atLeast: .seconds(1_200))),
            (429, "TooManyRequests", .backOff(.device, atLeast: .seconds(60))),
            (500, "InternalServerError", .backOff(.service, atLeast: .seconds(900))),
            (503, "ServiceUnavailable", .backOff(.service, atLeast: .seconds(900))), (503, "Shutdown", .notSent),
        ]
    }()

    @Test(arguments: reasons)
    func `Each reason that Apple documents leads to the right next step`(
        status: Int, reason: String, meaning: PushFailure.Meaning
    )
        throws
    {
        #expect(
            try outcome(status, #"{"reason":"\#(reason)"}"#)
                == .failed(PushFailure(meaning, reason: reason, status: status)))
    }

    @Test func `Every reason that Apple documents is tested`() {
        #expect(Set(Self.reasons.map(\.1)) == Set(APNsReason.allCases.map(\.rawValue)))
    }

    @Test func `A response about a gone device says since when, in milliseconds`() throws {
        let gone = try outcome(410, #"{"reason":"Unregistered","timestamp":1454948015990}"#)
        #expect(gone.meaning == .deviceGone(unlessRegisteredSince: Date(timeIntervalSince1970: 1_454_948_015.990)))
    }

    @Test(arguments: [
        (403, "{}", "status-403", PushFailure.Meaning.credentialBroken),
        (410, "", "status-410", .deviceGone(unlessRegisteredSince: Date(timeIntervalSince1970: 1_795_200_000))),
        (429, "<html>", "status-429", .backOff(.device, atLeast: .seconds(60))),
        (400, #"{"reason":"NewOne"}"#, "NewOne", .messageRejected),
        (502, #"{"reason":7}"#, "status-502", .backOff(.service, atLeast: .seconds(900))),
        (301, "[]", "status-301", .messageRejected),
    ])
    func `An unknown reason leads to the step that its status demands`(
        status: Int, body: String, reason: String, meaning: PushFailure.Meaning
    )
        throws
    {
        #expect(try outcome(status, body) == .failed(PushFailure(meaning, reason: reason, status: status)))
    }

    @Test func `A server's requested pause is respected`() throws {
        #expect(
            try outcome(503, #"{"reason":"ServiceUnavailable"}"#, retryAfter: "7").meaning
                == .backOff(.service, atLeast: .seconds(7)))
        #expect(try outcome(200, "") == .accepted(PushReceipt(id: "eabeae54-14a8-11e5-b60b-1697f925ec7b")))
    }

    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("999999999", 86_400), ("Fri, 20 Nov 2026 00:01:30 GMT", 90),
            ("Thu, 19 Nov 2026 00:00:00 GMT", 0), ("-1", nil), ("soon", nil),
            ("1.5", nil), ("", nil),
        ] as [(String, Int?)])
    func `Retry-After is seconds or a date`(text: String, seconds: Int?) throws {
        let now = try Date("2026-11-20T00:00:00Z", strategy: .iso8601)
        #expect(RetryAfter.duration(text, at: now) == seconds.map { .seconds($0) })
    }
}
