import Foundation
import MartletCore
import MartletTesting

@testable import StorageService

enum SharedHooks {
    /// Hooks run in this process, and waits are short.
    static let settings: HookSettings = {
        var settings = HookSettings(secret: Secret("an-internal-secret-of-the-tests-0123456789"))
        settings.arePrivateAddressesAllowed = true
        settings.firstPause = .milliseconds(20)
        settings.maximumPause = .milliseconds(200)
        settings.pollInterval = .milliseconds(50)
        settings.maximumAttempts = 5
        settings.totalTime = .seconds(120)
        return settings
    }()
}

extension StorageApp {
    /// Creates a hook, by default with the longest timeout, for slow machines; returns its secret.
    @discardableResult
    func hook(
        _ name: String, _ event: String, _ collection: String? = nil, at receiver: HookReceiver, _ more: String = ""
    ) async throws -> String {
        let collection = collection.map { #","collection":"\#($0)""# } ?? ""
        let timeout = more.contains("timeoutMilliseconds") ? "" : #","timeoutMilliseconds":10000"#
        let answer = try await master.put(
            "/hooks/\(name)", #"{"event":"\#(event)","url":"\#(receiver.url)"\#(collection)\#(timeout)\#(more)}"#)
        guard answer.status == 201, case .string(let secret) = answer.json?["secret"] else {
            throw HookNotMade(answer: answer)
        }
        return secret
    }

    struct HookNotMade: Error {
        var answer: Answer
    }
}
