public import MartletHTTP

extension AuthService {
    public func addRoutes(to routes: inout RouteTable) {
        routes.on(ReadKeyRing.route, ReadKeyRing(feed: feed))
        routes.on(ReadRevocations.route, ReadRevocations(feed: revocations))
        routes.on(RecordCredentialUse.route, RecordCredentialUse(credentials: credentials))
        routes.on(RecordUsage.route, RecordUsage(store: status, now: now))

        routes.section = .users
        // Signing in
        routes.on(
            SignUp.route, SignUp(users: users, attempts: attempts, hasher: hasher, signIns: signIns, mailing: mailing))
        routes.on(
            SignInAnonymously.route,
            SignInAnonymously(users: users, attempts: attempts, signIns: signIns, settings: mailing.settings))
        routes.on(LogIn.route, LogIn(byPassword: byPassword, signIns: signIns))
        routes.on(RefreshSession.route, refreshSession)
        routes.on(LogOut.route, LogOut(sessions: sessions))
        routes.on(ReadSigningKeys.route, ReadSigningKeys(feed: feed))

        addProviderRoutes(to: &routes)

        addPasskeyRoutes(to: &routes)

        routes.section = .users
        // The signed-in user's own account
        routes.on(ReadMe.route, ReadMe(users: users))
        routes.on(ChangeMe.route, ChangeMe(check: passwordCheck))
        routes.on(UpgradeMe.route, UpgradeMe(check: passwordCheck, mailing: mailing))
        routes.on(ChangePassword.route, ChangePassword(check: passwordCheck, outbox: mailing.outbox))
        routes.on(ChangeEmail.route, ChangeEmail(check: passwordCheck, mailing: mailing))
        routes.on(
            AddSecondFactor.route, AddSecondFactor(check: passwordCheck, secondFactors: secondFactors, apps: apps))
        routes.on(RemoveSecondFactor.route, RemoveSecondFactor(check: secondFactorCheck))
        routes.on(ConfirmSecondFactor.route, ConfirmSecondFactor(secondFactors: secondFactors))
        routes.on(RenewRecoveryCodes.route, RenewRecoveryCodes(check: secondFactorCheck))
        routes.on(ListSessions.route, ListSessions(sessions: sessions))
        routes.on(EndSessions.route, EndSessions(sessions: sessions))
        routes.on(EndSession.route, EndSession(sessions: sessions))

        addAppRoutes(to: &routes)

        routes.section = .users
        // Other users
        routes.on(ListUsers.route, ListUsers(users: users))
        routes.on(ImportUsers.route, ImportUsers(imports: ImportStore(postgres: postgres), now: now))
        routes.on(ReadUser.route, ReadUser(users: users))
        routes.on(ChangeUser.route, ChangeUser(users: users, hasher: hasher))
        routes.on(ListSessionsOfUser.route, ListSessionsOfUser(users: users, sessions: sessions))
        routes.on(EndSessionsOfUser.route, EndSessionsOfUser(users: users, sessions: sessions))
        routes.on(ResetSecondFactor.route, ResetSecondFactor(users: users, secondFactors: secondFactors))

        addStaffRoutes(to: &routes)

        addUserDataRoutes(to: &routes)

        addMailRoutes(to: &routes)

        addFederationRoutes(to: &routes)
    }
}
