/// These calls need a mail server; without one they throw ``MartletError/Code/notImplemented``, except where noted.
extension Users {
    /// Mails a code and a link that sign the user in. Succeeds even if no user has the address.
    ///
    /// - Parameters:
    ///   - language: The language of the mail; nil: the user's or the app's.
    ///   - link: One of the app's `linkURLs`, from which the link in the mail is made; nil: the first.
    public func sendSignInMail(to email: String, language: String? = nil, link: String? = nil) async throws {
        _ = try await callAsApp("POST", "auth/login/mail", Self.mailBody(email, language, link))
    }

    /// Mails a code and a link for setting a new password. Succeeds even if no user has the address.
    public func sendPasswordReset(to email: String, language: String? = nil, link: String? = nil) async throws {
        _ = try await callAsApp("POST", "auth/password/reset", Self.mailBody(email, language, link))
    }

    /// Sets a new password and ends all sessions. Sign in afterwards.
    public func resetPassword(with proof: MailProof, to newPassword: String) async throws {
        var body = proof.body
        body["newPassword"] = .string(newPassword)
        _ = try await callAsApp("POST", "auth/password/reset/confirm", .members(body))
    }

    /// Mails the signed-in user a code and a link that verify the address.
    public func sendVerification(language: String? = nil, link: String? = nil) async throws {
        _ = try await call("POST", "auth/email/verify", Self.mailBody(nil, language, link))
    }

    /// Verifies the address that the mail was sent to.
    public func verifyEmail(with proof: MailProof) async throws {
        _ = try await callAsApp("POST", "auth/email/verify/confirm", .members(proof.body))
        if try await current != nil { try await refresh() }
    }

    /// Mails a code and a link to the new address, which replaces the old one once either is confirmed. If the server
    /// cannot send mail, the new address takes effect at once, unverified.
    public func changeEmail(to email: String, password: String? = nil) async throws {
        let body = JSON.members(["email": .string(email), "password": password.map(JSON.string)])
        let answer = try await call("PUT", "auth/me/email", body)
        if answer["id"] != nil { _ = try await user(answer) }
    }

    /// Confirms the new address of the signed-in user with the code in the mail.
    @discardableResult
    public func confirmEmailChange(code: String) async throws -> User {
        _ = try await call("POST", "auth/email/change/confirm", ["mailCode": .string(code)])
        return try await refresh()
    }

    /// Confirms a new address with the link's token, on any device.
    public func confirmEmailChange(token: String) async throws {
        _ = try await callAsApp("POST", "auth/email/change/confirm", ["token": .string(token)])
        if try await current != nil { try await refresh() }
    }

    private static func mailBody(_ email: String?, _ language: String?, _ link: String?) -> JSON {
        .members([
            "email": email.map(JSON.string), "language": language.map(JSON.string), "link": link.map(JSON.string),
        ])
    }
}
