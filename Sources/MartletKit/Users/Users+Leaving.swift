public import Foundation

/// A receipt for the deletion of an account. Anyone who has it can read the progress of the deletion. Keep it, so that
/// the app can show the progress to the user.
public struct DeletionReceipt: Sendable, Hashable, Codable {
    public let id: String
    let token: String
}

/// The progress of an account's deletion.
public struct DeletionState: Sendable, Hashable {
    /// Whether everything is erased.
    public let isComplete: Bool
    /// What was erased, by service and kind.
    public let erased: JSON
}

/// An export of everything that is stored about the user.
public struct UserExport: Sendable, Hashable, Codable, Identifiable {
    public enum State: String, Sendable, Codable, CaseIterable { case waiting, running, done, failed, cancelled }

    public let id: String
    public let state: State
    public let sizeInBytes: Int?
    /// When a finished export is deleted.
    public let expires: Date?
}

extension Users {
    /// Deletes the account and everything that is stored about the user. This cannot be undone.
    ///
    /// - Parameter password: If the user has one; otherwise the user must have signed in within the last ten minutes.
    @discardableResult
    public func deleteAccount(password: String? = nil) async throws -> DeletionReceipt {
        let answer = try await call("DELETE", "auth/me", .members(["password": password.map(JSON.string)]))
        let receipt = try answer.decoded(as: DeletionReceipt.self)
        try await session.end(.accountDeleted)
        return receipt
    }

    public func deletion(_ receipt: DeletionReceipt) async throws -> DeletionState {
        var request = APIRequest("GET", "auth/receipts/" + APIRequest.escape(receipt.id))
        request.caller = .app
        request.headers["receipt-token"] = receipt.token
        let answer = try await api.json(request)
        return DeletionState(isComplete: answer["state"] == "complete", erased: answer["erased"] ?? [:])
    }

    /// Starts an export, at most one a day.
    @discardableResult
    public func startExport() async throws -> UserExport {
        try await call("POST", "auth/me/export").decoded(as: UserExport.self)
    }

    /// The latest export; nil if there is none.
    public func export() async throws -> UserExport? {
        do {
            return try await call("GET", "auth/me/export").decoded(as: UserExport.self)
        } catch let error as MartletError where error.isNotFound {
            return nil
        }
    }

    /// The finished export, as JSON Lines.
    public func exportContent() async throws -> Data {
        var request = APIRequest("GET", "auth/me/export/content")
        request.caller = .user
        return try await api.send(request).body
    }
}
