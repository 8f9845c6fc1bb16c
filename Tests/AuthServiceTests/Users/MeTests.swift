import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct MeTests {
    @Test func `A profile is changed in parts, and others see its public part`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp(
                more: #","email":"anna@example.org","profile":{"score":1},"private":{"phone":"1"}"#)
            let berta = try await client.signUp("berta")
            let changed = try await client.send("PATCH", "me", #"{"profile":{"score":2.50}}"#, as: anna)
            #expect(
                changed.status == 200 && changed["profile"] == #"{"score":2.50}"#
                    && changed["private"] == #"{"phone":"1"}"#, "\(changed)")
            let seen = try await client.send("GET", "users/\(anna.userID)", as: berta)
            #expect(seen.status == 200 && seen["profile.score"] == "2.50" && seen["userName"] == #""anna""#, "\(seen)")
            #expect(
                seen["private"] == nil && seen["email"] == nil && seen["disabled"] == nil && seen["lastSignIn"] == nil)
            #expect(try await client.send("GET", "users/\(UUID())", as: berta).isProblem(.userNotFound))
            #expect(try await client.send("GET", "users/x", as: berta).isProblem(.userNotFound))
            // An access token cannot change what the user signs in with.
            #expect(
                try await client.send("PATCH", "me", #"{"userName":"anna2"}"#, as: anna).isProblem(
                    .invalidBody, field: "password"))
            let wrong = try await client.send(
                "PATCH", "me", #"{"userName":"anna2","password":"wrong horse"}"#, as: anna)
            #expect(wrong.isProblem(.signInFailed), "\(wrong)")
            let taken = try await client.send(
                "PATCH", "me", #"{"userName":"berta","password":"correct horse"}"#, as: anna)
            #expect(taken.isProblem(.conflict, field: "userName"), "\(taken)")
            let renamed = try await client.send(
                "PATCH", "me", #"{"userName":"anna2","password":"correct horse"}"#, as: anna)
            #expect(renamed["userName"] == #""anna2""#, "\(renamed)")
            let large = try await client.send(
                "PATCH", "me", #"{"profile":{"a":"\#(String(repeating: "x", count: 17_000))"}}"#, as: anna)
            #expect(large.isProblem(.invalidBody, field: "profile"), "\(large)")
            let numbers = Array(repeating: "1e399", count: 300).joined(separator: ",")
            let long = try await client.send("PATCH", "me", #"{"profile":{"a":[\#(numbers)]}}"#, as: anna)
            #expect(long.isProblem(.invalidBody, field: "profile"), "\(long)")
        }
    }

    @Test(arguments: ["emailVerified", "disabled", "email", "id", "isAnonymous", "lastSignIn", "roles"])
    func `PATCH cannot change what does not belong to the user`(field: String) async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp()
            for value in ["true", #""x""#] {
                let answer = try await client.send("PATCH", "me", #"{"\#(field)":\#(value)}"#, as: anna)
                #expect(answer.isProblem(.invalidBody, field: field), "\(answer)")
            }
        }
    }

    @Test func `Without a token, /me is refused`() async throws {
        try await UserClient.run { client in
            for (method, path) in [
                ("GET", "me"), ("PATCH", "me"), ("DELETE", "me"), ("PUT", "me/password"), ("PUT", "me/email"),
                ("GET", "sessions"), ("DELETE", "sessions"),
            ] {
                let answer = try await client.send(method, path, method == "GET" ? nil : "{}")
                #expect(answer.isProblem(.invalidToken), "\(method) \(path): \(answer)")
            }
        }
    }

    @Test func `A new password needs the old one and ends all other sessions`() async throws {
        try await UserClient.run { client in
            let phone = try await client.signUp()
            let thief = try Tokens(try await client.logIn())
            let wrong = try await client.send(
                "PUT", "me/password", #"{"password":"wrong horse","newPassword":"a new horse"}"#, as: phone)
            #expect(wrong.isProblem(.signInFailed), "\(wrong)")
            let none = try await client.send("PUT", "me/password", #"{"newPassword":"a new horse"}"#, as: phone)
            #expect(none.isProblem(.invalidBody, field: "password"), "\(none)")
            let weak = try await client.send(
                "PUT", "me/password", #"{"password":"correct horse","newPassword":"12345678"}"#, as: phone)
            #expect(weak.isProblem(.invalidBody, field: "newPassword"), "\(weak)")
            #expect(try await client.refresh(thief.refresh).status == 200)
            let changed = try await client.send(
                "PUT", "me/password", #"{"password":"correct horse","newPassword":"a new horse"}"#, as: phone)
            #expect(changed.status == 204, "\(changed)")
            #expect(try await client.logIn().isProblem(.signInFailed))
            #expect(try await client.logIn(password: "a new horse").status == 200)
            #expect(try await client.send("GET", "sessions", as: phone)["count"] == "2")
            #expect(try await client.refresh(phone.refresh).status == 200)
        }
    }

    @Test func `Of two concurrent password changes, one fails`() async throws {
        try await UserClient.run { client in
            let tokens = try await client.signUp()
            async let a = client.send(
                "PUT", "me/password", #"{"password":"correct horse","newPassword":"a new horse"}"#, as: tokens)
            async let b = client.send(
                "PUT", "me/password", #"{"password":"correct horse","newPassword":"b new horse"}"#, as: tokens)
            let statuses = try await [a.status, b.status]
            #expect(statuses.contains(204) && statuses.count { $0 == 204 } == 1, "\(statuses)")
        }
    }

    @Test func `A new address needs the password and is not verified`() async throws {
        try await UserClient.run { client in
            let anna = try await client.signUp(more: #","email":"anna@example.org""#)
            _ = try await client.master("PATCH", "users/\(anna.userID)", #"{"emailVerified":true}"#)
            #expect(try await client.send("GET", "me", as: anna)["emailVerified"] == "true")
            let wrong = try await client.send(
                "PUT", "me/email", #"{"email":"b@example.org","password":"wrong horse"}"#, as: anna)
            #expect(wrong.isProblem(.signInFailed), "\(wrong)")
            let changed = try await client.send(
                "PUT", "me/email", #"{"email":"B@example.org","password":"correct horse"}"#, as: anna)
            #expect(
                changed.status == 200 && changed["email"] == #""b@example.org""# && changed["emailVerified"] == "false",
                "\(changed)")
        }
    }
}
