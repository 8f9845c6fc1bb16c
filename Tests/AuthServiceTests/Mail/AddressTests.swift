import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

/// Verification and change of addresses, password resets, and notices to users.
@Suite(.enabled(if: MailServer.isAvailable)) struct AddressTests {
    @Test func `An address is verified by the code mailed after signing up`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            let tokens = try await client.signUpByAddress(address, more: #","language":"de""#)
            let mail = try await MailServer.shared.mail(to: address)
            #expect(mail.subject == "Shop: E-Mail-Adresse bestätigen" && mail.text.contains("24 Stunden"), "\(mail)")
            let confirmed = try await client.send(
                "POST", "email/verify/confirm", #"{"email":"\#(address)","mailCode":"\#(mail.code)"}"#)
            #expect(confirmed.status == 204, "\(confirmed)")
            #expect(try await client.send("GET", "me", as: tokens)["emailVerified"] == "true")
            let again = try await client.send("POST", "email/verify", as: tokens)
            #expect(again.isProblem(.conflict), "\(again)")
            #expect(try await client.send("POST", "email/verify").isProblem(.invalidToken))
        }
    }

    @Test func `A further request invalidates the earlier mail, and so does a change of address`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            let tokens = try await client.signUpByAddress(address)
            let first = try await MailServer.shared.mail(to: address)
            #expect(try await client.send("POST", "email/verify", as: tokens).status == 202)
            let second = try await MailServer.shared.mail(to: address, number: 2)
            #expect(
                try await client.send("POST", "email/verify/confirm", #"{"token":"\#(first.token)"}"#).isProblem(
                    .signInFailed))
            let id = try #require(UUID(uuidString: tokens.userID))
            _ = try await client.master("PATCH", "users/\(id)", #"{"email":"\#(UserClient.address("other"))"}"#)
            #expect(
                try await client.send("POST", "email/verify/confirm", #"{"token":"\#(second.token)"}"#).isProblem(
                    .signInFailed))
            #expect(try await client.send("GET", "me", as: tokens)["emailVerified"] == "false")
        }
    }

    @Test func `Resetting a password by mail ends all sessions, and the second factor is still required`()
        async throws
    {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            let tokens = try await client.signUpVerified(address)
            let secret = try await client.addFactor(tokens)
            #expect(try await client.send("POST", "password/reset", #"{"email":"\#(address)"}"#).status == 202)
            let mail = try await MailServer.shared.mail(to: address, number: 2)
            // An invalid password is refused before the code is used up.
            let weak = try await client.send(
                "POST", "password/reset/confirm", #"{"token":"\#(mail.token)","newPassword":"password"}"#)
            #expect(weak.isProblem(.invalidBody, field: "newPassword"), "\(weak)")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                let code = try mail.code
                for number in 0..<3 {
                    let body =
                        #"{"email":"\#(address)","mailCode":"\#(code)","newPassword":"another horse \#(number)"}"#
                    group.addTask { try await client.send("POST", "password/reset/confirm", body).status }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.sorted() == [204, 401, 401])
            #expect(try await client.refresh(tokens.refresh).isProblem(.invalidToken))
            #expect(try await client.logIn(address: address).isProblem(.signInFailed))
            let notice = try await MailServer.shared.mail(to: address, number: 3)
            #expect(notice.subject == "Shop: your password was changed", "\(notice)")
            // Any of the three concurrent resets may have won.
            _ = try await client.auth.postgres.execute("DELETE FROM auth.attempts")
            var acceptedCount = 0
            for number in 0..<3 {
                let answer = try await client.logIn(address: address, password: "another horse \(number)")
                if answer.isProblem(.secondFactorRequired) {
                    acceptedCount += 1
                    let full =
                        #"{"email":"\#(address)","password":"another horse \#(number)","code":"\#(UserClient.code(secret, 1))"}"#
                    #expect(try await client.send("POST", "login", full).status == 200)
                }
            }
            #expect(acceptedCount == 1)
        }
    }

    @Test func `Resetting the password verifies the address, and disabled users get no mail`() async throws {
        try await UserClient.runWithMail(#""verifyOnSignUp":false"#) { client in
            let address = UserClient.address(), disabled = UserClient.address("disabled")
            let tokens = try await client.signUpByAddress(address)
            let other = try await client.signUpByAddress(disabled)
            _ = try await client.master("PATCH", "users/\(other.userID)", #"{"disabled":true}"#)
            for address in [disabled, address] {
                _ = try await client.send("POST", "password/reset", #"{"email":"\#(address)"}"#)
            }
            let mail = try await MailServer.shared.mail(to: address)
            let answer = try await client.send(
                "POST", "password/reset/confirm", #"{"token":"\#(mail.token)","newPassword":"another horse"}"#)
            #expect(answer.status == 204, "\(answer)")
            let user = try await client.master("GET", "users/\(tokens.userID)")
            #expect(user["emailVerified"] == "true", "\(user)")
            try await client.waitForJobs()
            #expect(try await MailServer.shared.mails(to: disabled).isEmpty)
        }
    }

    @Test func `A new address must be confirmed there, and the old address is notified`() async throws {
        try await UserClient.runWithMail { client in
            let old = UserClient.address("old"), new = UserClient.address("new")
            let tokens = try await client.signUpVerified(old)
            let ordered = try await client.send(
                "PUT", "me/email", #"{"email":"\#(new)","password":"correct horse"}"#, as: tokens)
            #expect(ordered.status == 202, "\(ordered)")
            let mail = try await MailServer.shared.mail(to: new)
            #expect(try await client.send("GET", "me", as: tokens).string("email") == old)
            // The code belongs to the user who requested it.
            let eve = try await client.signUp("eve")
            let stolen = try await client.send(
                "POST", "email/change/confirm", #"{"mailCode":"\#(mail.code)"}"#, as: eve)
            #expect(stolen.isProblem(.signInFailed), "\(stolen)")
            let confirmed = try await client.send(
                "POST", "email/change/confirm", #"{"mailCode":"\#(mail.code)"}"#, as: tokens)
            #expect(confirmed.status == 204, "\(confirmed)")
            let me = try await client.send("GET", "me", as: tokens)
            #expect(me.string("email") == new && me["emailVerified"] == "true", "\(me)")
            let notice = try await MailServer.shared.mail(to: old, number: 2)
            #expect(notice.subject == "Shop: your e-mail address was changed" && notice.text.contains(new), "\(notice)")
            #expect(
                try await client.send("POST", "email/change/confirm", #"{"token":"\#(mail.token)"}"#).isProblem(
                    .signInFailed))
        }
    }

    @Test func `An address in use is neither disclosed nor given away`() async throws {
        try await UserClient.runWithMail { client in
            let taken = UserClient.address("taken"), free = UserClient.address("free")
            _ = try await client.signUpVerified(taken)
            let tokens = try await client.signUp("eve")
            let answers = [
                try await client.send(
                    "PUT", "me/email", #"{"email":"\#(taken)","password":"correct horse"}"#, as: tokens),
                try await client.send(
                    "PUT", "me/email", #"{"email":"\#(free)","password":"correct horse"}"#, as: tokens),
            ]
            #expect(answers.allSatisfy { $0.status == 202 && $0.text.isEmpty })
            let mail = try await MailServer.shared.mail(to: free)
            try await client.waitForJobs()
            #expect(try await MailServer.shared.mails(to: taken).count == 1)
            // Taken by another user in between.
            _ = try await client.signUpByAddress(free)
            let late = try await client.send("POST", "email/change/confirm", #"{"token":"\#(mail.token)"}"#)
            #expect(late.isProblem(.conflict, field: "email"), "\(late)")
        }
    }

    @Test func `A sign-in from a new device is reported by mail, one from a known device is not`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            _ = try await client.signUpVerified(address, more: #","device":"phone","private":{"language":"de"}"#)
            func logIn(_ device: String) async throws {
                let answer = try await client.send(
                    "POST", "login", #"{"email":"\#(address)","password":"correct horse","device":"\#(device)"}"#)
                #expect(answer.status == 200, "\(answer)")
            }
            try await logIn("phone")
            try await logIn("Eve's\\r\\nBcc: x@example.org tablet")
            try await logIn("Eve's\\r\\nBcc: x@example.org tablet")
            let notice = try await MailServer.shared.mail(to: address, number: 2)
            #expect(
                notice.subject == "Shop: Anmeldung von einem neuen Gerät"
                    && notice.text.contains("Eve's Bcc: x@example.org tablet"), "\(notice)")
            #expect(notice.to == [address] && notice.headerCount == 8, "\(notice)")
            try await client.set(#""notices":false"#)
            try await logIn("television")
            try await client.waitForJobs()
            #expect(try await MailServer.shared.mails(to: address).count == 2)
        }
    }

    @Test func `If the app requires verified addresses, no one is signed in before verification`() async throws {
        try await UserClient.runWithMail(#""requireVerifiedEmail":true"#) { client in
            let address = UserClient.address()
            let nameOnly = try await client.send("POST", "signup", #"{"userName":"ada","password":"correct horse"}"#)
            #expect(nameOnly.isProblem(.invalidBody, field: "email"), "\(nameOnly)")
            let made = try await client.send("POST", "signup", #"{"email":"\#(address)","password":"correct horse"}"#)
            #expect(made.status == 202 && made.string("user.email") == address && made["accessToken"] == nil, "\(made)")
            #expect(try await client.send("POST", "anonymous").isProblem(.forbidden))
            #expect(try await client.count("SELECT count(*) FROM auth.sessions") == 0)
            #expect(try await client.logIn(address: address, password: "wrong horse").isProblem(.signInFailed))
            #expect(try await client.logIn(address: address).isProblem(.forbidden))
            let mail = try await MailServer.shared.mail(to: address)
            #expect(try await client.send("POST", "email/verify/confirm", #"{"token":"\#(mail.token)"}"#).status == 204)
            #expect(try await client.logIn(address: address).status == 200)
        }
    }

    @Test func `A new password invalidates a pending change of address`() async throws {
        try await UserClient.runWithMail { client in
            let (address, other) = (UserClient.address(), UserClient.address("thief"))
            let thief = try await client.signUpVerified(address)
            let ordered = try await client.send(
                "PUT", "me/email", #"{"email":"\#(other)","password":"correct horse"}"#, as: thief)
            #expect(ordered.status == 202, "\(ordered)")
            let mail = try await MailServer.shared.mail(to: other)
            try await client.waitForJobs()
            let owner = try Tokens(try await client.logIn(address: address))
            let change = #"{"password":"correct horse","newPassword":"another horse"}"#
            #expect(try await client.send("PUT", "me/password", change, as: owner).status == 204)
            #expect(
                try await client.send("POST", "email/change/confirm", #"{"token":"\#(mail.token)"}"#).isProblem(
                    .signInFailed))
            #expect(try await client.send("GET", "me", as: owner).string("email") == address)
        }
    }

    @Test func `No token or code is stored in plain text`() async throws {
        try await UserClient.runWithMail { client in
            let address = UserClient.address()
            _ = try await client.signUpVerified(address)
            _ = try await client.send("POST", "login/mail", #"{"email":"\#(address)"}"#)
            let mail = try await MailServer.shared.mail(to: address, number: 2)
            try await client.waitForJobs()
            for secret in [try mail.token, try mail.code] {
                let found = try await client.count(
                    """
                    SELECT (SELECT count(*) FROM auth.jobs AS j WHERE strpos(j::text, \(secret)) > 0)
                        + (SELECT count(*) FROM auth.mail_proofs AS p WHERE strpos(p::text, \(secret)) > 0)
                    """)
                #expect(found == 0)
            }
            #expect(try await client.count("SELECT count(*) FROM auth.mail_proofs") == 1)
        }
    }
}
