<?php
// Time and names that all origins agree on: from the fields that an agent adds to each ordered
// request. SetEnv SECRET is the same at all origins, so that the seed alone names no session.
declare(strict_types=1);

function agreed_time(): string {
    return substr($_SERVER['HTTP_PROPHECY_TIME'] ?? gmdate('Y-m-d\TH:i:s'), 0, 19) . 'Z';
}

function agreed_hex(): string {
    static $names = 0;
    $names += 1;
    $seed = $_SERVER['HTTP_PROPHECY_SEED'] ?? bin2hex(random_bytes(32));
    return substr(hash_hmac('sha256', "$seed $names", $_SERVER['SECRET'] ?? ''), 0, 32);
}

// session_start() makes a file for each cookie that it does not know, even for a GET, which one
// origin alone may be asked.
function open_session(): void {
    $id = $_COOKIE[session_name()] ?? '';
    if (preg_match('/^[0-9a-f]{32}$/', $id) && is_file(session_save_path() . "/sess_$id")) {
        session_start(['read_and_close' => true]);
    }
}

function new_session(): void {
    session_id(agreed_hex());
    session_start();
}
