<?php
// A board of notes and uploads: PDO and SQLite, one script behind Apache's FallbackResource
// (board.conf). DATA is the folder of notes.db, uploads/ and sessions/.
declare(strict_types=1);
require __DIR__ . '/../agreed.php';

$data = $_SERVER['DATA'];
open_session();
$db = new PDO("sqlite:$data/notes.db", null, null, [PDO::ATTR_TIMEOUT => 5]);
$db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
$db->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_ASSOC);

function page(string $title, string $content): void {
    $name = isset($_SESSION['name']) ? ' - ' . htmlspecialchars($_SESSION['name']) : '';
    header('Content-Type: text/html; charset=utf-8');
    echo "<!doctype html><title>$title</title><h1>$title$name</h1>\n$content\n";
}

function fail(int $status, string $text): void {
    http_response_code($status);
    header('Content-Type: text/plain');
    echo "$text\n";
}

function redirect(string $target): void {
    header("Location: $target", true, 303);
}

function run(PDO $db, string $sql, array $values = []): PDOStatement {
    $statement = $db->prepare($sql);
    $statement->execute($values);
    return $statement;
}

function list_notes(PDO $db): void {
    $items = '';
    foreach (run($db, 'SELECT * FROM notes ORDER BY created DESC, id DESC LIMIT 20') as $note) {
        $items .= sprintf("<li><a href=\"/notes/%d\">%s, %s</a>: %s\n", $note['id'],
            htmlspecialchars($note['author']), $note['created'], htmlspecialchars($note['text']));
    }
    page('Notes', "<ul>\n$items</ul>");
}

function show_note(PDO $db, string $id): void {
    $note = run($db, 'SELECT * FROM notes WHERE id = ?', [$id])->fetch();
    if (!$note) {
        fail(404, 'no such note');
        return;
    }
    $times = $note['created'] . ($note['edited'] ? ", edited {$note['edited']}" : '');
    page('Note', sprintf("<p class=\"text\">%s</p>\n<p>%s, %s</p>", htmlspecialchars($note['text']),
        htmlspecialchars($note['author']), $times));
}

function create_note(PDO $db): void {
    run($db, 'INSERT INTO notes (author, text, created) VALUES (?, ?, ?)',
        [$_SESSION['name'] ?? 'nobody', $_POST['text'] ?? '', agreed_time()]);
    redirect('/notes/' . $db->lastInsertId());
}

function edit_note(PDO $db, string $id): void {
    $done = run($db, 'UPDATE notes SET text = ?, edited = ? WHERE id = ?',
        [$_POST['text'] ?? '', agreed_time(), $id]);
    $done->rowCount() ? redirect("/notes/$id") : fail(404, 'no such note');
}

function delete_note(PDO $db, string $id): void {
    run($db, 'DELETE FROM notes WHERE id = ?', [$id])->rowCount() ? redirect('/') : fail(404, 'no such note');
}

function login(): void {
    new_session();
    $_SESSION['name'] = $_POST['name'] ?? 'nobody';
    redirect('/');
}

function upload(string $data): void {
    $name = agreed_hex();
    if (!move_uploaded_file($_FILES['file']['tmp_name'] ?? '', "$data/uploads/$name")) {
        throw new RuntimeException('the upload was not kept');
    }
    redirect("/uploads/$name");
}

function delete_upload(string $data, string $name): void {
    $file = "$data/uploads/$name";
    is_file($file) && unlink($file) ? redirect('/') : fail(404, 'no such file');
}

// A report that somebody else's machine takes its time to make.
function slow(PDO $db): void {
    sleep(min((int) ($_POST['seconds'] ?? 1), 20));
    create_note($db);
}

// A defect: the process dies when half of the work is done, as of a fault in a library.
function crash(PDO $db): void {
    create_note($db);
    posix_kill(getmypid(), 11);
    sleep(1);
}

function dispatch(PDO $db, string $data): void {
    $path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
    $post = $_SERVER['REQUEST_METHOD'] === 'POST';
    match (true) {
        !$post && $path === '/' => list_notes($db),
        !$post && preg_match('#^/notes/(\d+)$#', $path, $part) === 1 => show_note($db, $part[1]),
        $post && $path === '/notes' => create_note($db),
        $post && preg_match('#^/notes/(\d+)/edit$#', $path, $part) === 1 => edit_note($db, $part[1]),
        $post && preg_match('#^/notes/(\d+)/delete$#', $path, $part) === 1 => delete_note($db, $part[1]),
        $post && $path === '/login' => login(),
        $post && $path === '/uploads' => upload($data),
        $post && preg_match('#^/uploads/(\w+)/delete$#', $path, $part) === 1 => delete_upload($data, $part[1]),
        $post && $path === '/slow' => slow($db),
        $post && $path === '/crash' => crash($db),
        default => fail(404, 'no such page'),
    };
}

try {
    dispatch($db, $data);
} catch (Throwable $error) {
    error_log((string) $error);
    fail(500, 'this did not work');
}
