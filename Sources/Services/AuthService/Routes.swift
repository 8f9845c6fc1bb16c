public import Hummingbird
public import MartletHTTP

extension AuthService {
    public func addRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "internal/keyring", ReadKeyRing(feed: feed))
        router.on(.get, "internal/revocations", ReadRevocations(feed: revocations))
        router.on(.post, "internal/credentials/used", RecordCredentialUse(credentials: credentials))

        // Signing in
        router.on(
            .post, "auth/signup",
            SignUp(users: users, attempts: attempts, hasher: hasher, signIns: signIns, mailing: mailing))
        router.on(
            .post, "auth/anonymous",
            SignInAnonymously(users: users, attempts: attempts, signIns: signIns, settings: mailing.settings))
        router.on(.post, "auth/login", LogIn(byPassword: byPassword, signIns: signIns))
        router.on(.post, "auth/refresh", refreshSession)
        router.on(.post, "auth/logout", LogOut(sessions: sessions))
        router.on(.get, "auth/jwks", ReadSigningKeys(feed: feed))

        addProviderRoutes(to: router)

        addPasskeyRoutes(to: router)

        // One's own account
        router.on(.get, "auth/me", ReadMe(users: users))
        router.on(.patch, "auth/me", ChangeMe(check: passwordCheck))
        router.on(.post, "auth/me/upgrade", UpgradeMe(check: passwordCheck, mailing: mailing))
        router.on(.put, "auth/me/password", ChangePassword(check: passwordCheck, outbox: mailing.outbox))
        router.on(.put, "auth/me/email", ChangeEmail(check: passwordCheck, mailing: mailing))
        router.on(
            .post, "auth/me/totp", AddSecondFactor(check: passwordCheck, secondFactors: secondFactors, apps: apps))
        router.on(.delete, "auth/me/totp", RemoveSecondFactor(check: passwordCheck, secondFactors: secondFactors))
        router.on(.post, "auth/me/totp/confirm", ConfirmSecondFactor(attempts: attempts, secondFactors: secondFactors))
        router.on(
            .post, "auth/me/totp/recovery-codes", RenewRecoveryCodes(check: passwordCheck, secondFactors: secondFactors)
        )
        router.on(.get, "auth/sessions", ListSessions(sessions: sessions))
        router.on(.delete, "auth/sessions", EndSessions(sessions: sessions))
        router.on(.delete, "auth/sessions/:id", EndSession(sessions: sessions))

        addAppRoutes(to: router)

        // Other users
        router.on(.get, "auth/users", ListUsers(users: users))
        router.on(.post, "auth/users/import", ImportUsers(imports: ImportStore(postgres: postgres)))
        router.on(.get, "auth/users/:id", ReadUser(users: users))
        router.on(.patch, "auth/users/:id", ChangeUser(users: users, hasher: hasher))
        router.on(.delete, "auth/users/:id/totp", ResetSecondFactor(users: users, secondFactors: secondFactors))

        addStaffRoutes(to: router)

        addUserDataRoutes(to: router)

        addMailRoutes(to: router)

        addFederationRoutes(to: router)
    }
}
