#if canImport(Security)
public import Foundation
import Security

/// Keeps the session in the keychain. It stays on this device and is readable after the first unlock, so that the app
/// can work in the background.
public struct KeychainSessionStore: SessionStore {
    private let service: String
    private let account: String
    private let accessGroup: String?

    /// - Parameters:
    ///   - account: Distinguishes the sessions of several apps or environments.
    ///   - accessGroup: For a session that several apps of a team share.
    public init(service: String = "martlet", account: String, accessGroup: String? = nil) {
        self.service = service
        self.account = account
        self.accessGroup = accessGroup
    }

    private var item: [String: Any] {
        var item: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecAttrAccount as String: account,
        ]
        item[kSecAttrAccessGroup as String] = accessGroup
        return item
    }

    public func load() throws -> Session? {
        var query = item
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        try check(status)
        guard let data = found as? Data else { return nil }
        return try? JSON(parsing: data).decoded(as: Session.self)
    }

    public func save(_ session: Session) throws {
        let values: [String: Any] = [
            kSecValueData as String: try JSON(encoding: session).data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        let status = SecItemUpdate(item as CFDictionary, values as CFDictionary)
        guard status == errSecItemNotFound else { return try check(status) }
        try check(SecItemAdd(item.merging(values) { $1 } as CFDictionary, nil))
    }

    public func clear() throws {
        let status = SecItemDelete(item as CFDictionary)
        if status != errSecItemNotFound { try check(status) }
    }

    private func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else {
            throw MartletError(.sessionStoreFailed, "The keychain answered \(status).")
        }
    }
}
#endif
